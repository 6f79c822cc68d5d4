"""The sender name in From: the brand's name, which the operator sets, plus optional words of the brand's choice.

So no brand sends under another's name, and the check reveals no names of other brands.
"""

import re
import unicodedata


def is_own(*, brand_name: str, sender_name: str) -> bool:
    """Whether `sender_name` begins with the words of the brand's name, in any spelling, and is readable."""
    own, sender = terms_of(brand_name), terms_of(sender_name)
    return bool(own) and sender[: len(own)] == own and sender_name.isprintable()


def terms_of(name: str) -> list[str]:
    """The words without case, accents and punctuation."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return re.findall(r"\w+", "".join(letter for letter in plain if not unicodedata.combining(letter)))
