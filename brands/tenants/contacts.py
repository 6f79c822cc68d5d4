"""A contact in free text: a phone number, an address, or words around one; and the link to it."""

import re
from urllib.parse import quote

ADDRESS = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+")
# A number with six digits or more; the page's fill.js has the same rules.
PHONE = re.compile(r"\+?[0-9(][0-9 ()./\u2010-\u2015-]{4,28}[0-9]")
MIN_DIGITS = 6


def link(text: str) -> str:
    """`mailto:` or `tel:` of the first address, or else of the first number in it; empty without either."""
    if result := ADDRESS.search(text):
        return f"mailto:{quote(result[0], safe='@')}"
    for result in PHONE.finditer(text):
        digits = re.sub(r"[^0-9]", "", result[0])
        if len(digits) >= MIN_DIGITS:
            return f"tel:{'+' if result[0].startswith('+') else ''}{digits}"
    return ""
