"""The placeholder language of notifications: text with {names}. Names are looked up; nothing is evaluated."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from string import Formatter

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

# First strong isolate, pop directional isolate: keeps a Latin name from reordering the Arabic text around it.
ISOLATE, END = "\u2068", "\u2069"


class BadText(ValueError):
    """A text with invalid placeholders. The message says what its author should do."""


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a placeholder. `label` makes `text` a link with this label; `href` makes the text itself a link.

    `is_cut`: the text was shortened to fit.
    """

    text: str
    label: str = ""
    href: str = ""
    is_cut: bool = False


Values = Mapping[str, Value]


def pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Pairs of literal text and the name that follows it, or None. Raises BadText."""
    try:
        for literal, name, spec, conversion in Formatter().parse(text):
            if name is not None and (spec or conversion):
                raise BadText(_("Write {%(name)s} without anything after the name.") % {"name": name})
            yield literal, name.strip() if name is not None else None
    except ValueError as error:
        if isinstance(error, BadText):
            raise
        raise BadText(_("A brace is unmatched. Write {{ or }} for a literal brace.")) from None


def names(text: str) -> set[str]:
    return {name for _literal, name in pieces(text) if name is not None}


def check(text: str, *, known: Collection[str], needed: Collection[str] = ()) -> None:
    """Raises BadText if a name is unknown, has a format or conversion, or a needed name is missing."""
    result = names(text)
    if unknown := sorted(result - set(known)):
        message = _("{%(name)s} is not available here. Use one of: %(known)s.")
        available = ", ".join(f"{{{name}}}" for name in sorted(known))
        raise BadText(message % {"name": unknown[0], "known": available})
    if missing := sorted(set(needed) - result):
        raise BadText(_("This text must contain {%(name)s}.") % {"name": missing[0]})


def fill(text: str, values: Values, *, isolated: bool = False) -> str:
    """Fill in the text as plain text. `isolated` is for right-to-left languages."""

    def display(name: str) -> str:
        value = values[name]
        return f"{ISOLATE}{value.text}{END}" if isolated and not value.label else value.text

    return "".join(literal + (display(name) if name is not None else "") for literal, name in pieces(text))


def fill_html(text: str, values: Values) -> SafeString:
    """Fill in the text as HTML paragraphs: everything is escaped, values are isolated, links become buttons."""
    blocks = [block.strip("\n") for block in text.replace("\r\n", "\n").split("\n\n")]
    return mark_safe("\n".join(f"<p>{_block(block, values)}</p>" for block in blocks if block.strip()))  # noqa: S308


def _block(text: str, values: Values) -> str:
    parts = []
    for literal, name in pieces(text):
        parts.append(_lines(literal))
        if name is not None:
            parts.append(_value(values[name]))
    return "".join(parts)


def _value(value: Value) -> str:
    if value.label:
        return format_html('<a class="button" href="{}">{}</a>', value.text, value.label)
    if value.href:
        return f'<a href="{escape(value.href)}" style="color: inherit"><bdi>{_lines(value.text)}</bdi></a>'
    return f"<bdi>{_lines(value.text)}</bdi>"


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>\n")
