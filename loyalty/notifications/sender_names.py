"""The name in From: a brand's own, which the operator sets, with more words behind it if the brand likes.

So no brand writes in another's name, and nobody has to be told which names others have.
"""

import re
import unicodedata


def is_own(*, brand_name: str, sender_name: str) -> bool:
    """Whether `sender_name` begins with the words of the brand's name, however they are written, and is readable."""
    own, sender = terms_of(brand_name), terms_of(sender_name)
    return bool(own) and sender[: len(own)] == own and sender_name.isprintable()


def terms_of(name: str) -> list[str]:
    """Words as people read them: without case, accents and punctuation."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return re.findall(r"\w+", "".join(letter for letter in plain if not unicodedata.combining(letter)))
