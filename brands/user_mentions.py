"""Mentions: finds where free text names a person, and replaces the name, for the erasure of their data."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

MIN_NAME_LENGTH = 2  # letters of a name that is searched for by itself


@dataclass(frozen=True)
class Mentions:
    """The texts that identify a customer."""

    email: str
    first_name: str = ""
    last_name: str = ""
    phone: str = ""
    corrected: tuple[str, str] = ("", "")  # first and last name as the brand's staff corrected them

    @property
    def names(self) -> list[list[str]]:
        return [[self.first_name, self.last_name], list(self.corrected)]

    @cached_property
    def anywhere(self) -> "re.Pattern[str]":
        """Unambiguous mentions: the addresses, and both names together in either order."""
        pairs = [way for both in self.names if all(both) for way in (both, both[::-1])]
        names = [rf"\b{_pattern(pair)}\b" for pair in pairs]
        digits = re.sub(r"\D", "", self.phone)
        phone = [r"\+?" + r"[\s./()-]*".join(digits)] if digits else []
        return re.compile("|".join([re.escape(self.email), *phone, *names]), re.IGNORECASE)

    @property
    def anywhere_in_sql(self) -> str:
        """The pattern of `anywhere` as PostgreSQL writes it, where a word boundary is `\\y`."""
        return self.anywhere.pattern.replace(r"\b", r"\y")

    @cached_property
    def in_their_own_rows(self) -> "re.Pattern[str]":
        """For text about the person anyway: each name by itself, too."""
        each = [name for both in self.names for name in both if len(name) >= MIN_NAME_LENGTH]
        alone = [rf"\b{re.escape(name)}\b" for name in each]
        return re.compile("|".join([self.anywhere.pattern, *alone]), re.IGNORECASE)

    @cached_property
    def as_a_search(self) -> "re.Pattern[str]":
        """A whole search that finds the person among customers: only their names, address or phone number."""
        word = self.in_their_own_rows.pattern
        return re.compile(rf"\s*(?:{word})(?:[\s,]+(?:{word}))*\s*", re.IGNORECASE)


def _pattern(names: list[str]) -> str:
    return r",?\s+".join(re.escape(name) for name in names)


def replace_mentions(value: Any, pattern: "re.Pattern[str]", pseudonym: str) -> Any:
    """A text, or JSON with texts in it, with each mention replaced by the pseudonym."""
    if isinstance(value, str):
        return pattern.sub(pseudonym, value)
    if isinstance(value, dict):
        return {name: replace_mentions(content, pattern, pseudonym) for name, content in value.items()}
    return [replace_mentions(each, pattern, pseudonym) for each in value] if isinstance(value, list) else value
