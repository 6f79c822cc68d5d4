"""Codes that a till takes for a reward: unguessable, forgiving to read out and to type, and sure to notice a slip.

15 random characters of Crockford's base32 (75 bits) and one that checks them: a sum over the field of 32 elements,
which notices every single wrong character and every two that changed places.
"""

import secrets

# It leaves out I, L, O and U, which readers mistake.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
RANDOM, GROUP = 15, 4
LENGTH = RANDOM + 1
_MISREAD = str.maketrans({"I": "1", "L": "1", "O": "0"})
_SEPARATORS = str.maketrans("", "", " -\t")
_VALUES = {letter: value for value, letter in enumerate(ALPHABET)}
_REDUCE = 0b100101  # x^5 + x^2 + 1


def new() -> str:
    """A new code as it is stored, without separators."""
    drawn = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM))
    return drawn + check(drawn)


def check(drawn: str) -> str:
    """The character that checks the others: their sum, each times a power of its own, the last ones the smallest."""
    total = 0
    for letter in drawn:
        total = _doubled(total ^ _VALUES[letter])
    return ALPHABET[total]


def _doubled(value: int) -> int:
    value <<= 1
    return value ^ _REDUCE if value & 32 else value


def read(text: str) -> str | None:
    """The code that somebody typed or scanned, as it is stored; None for what cannot be one."""
    result = text.upper().translate(_MISREAD).translate(_SEPARATORS)
    if len(result) != LENGTH or not set(result) <= set(ALPHABET):
        return None
    return result if check(result[:RANDOM]) == result[RANDOM:] else None


def grouped(code: str) -> str:
    """As people read it: XXXX-XXXX-XXXX-XXXX."""
    return "-".join(code[start : start + GROUP] for start in range(0, len(code), GROUP))


def masked(code: str) -> str:
    """Enough to recognise it by, too little to use it."""
    return f"{code[:GROUP]}-••••-••••-••••"
