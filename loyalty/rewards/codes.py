"""Redemption codes for the till: not guessable, easy to read out and to type, and safe against typing errors.

15 random characters of Crockford's base32 (75 bits) and a check character: a sum over the field of 32 elements, which
detects every single wrong character and every swap of two characters.
"""

import secrets

# Leaves out I, L, O and U, which are easily confused.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
RANDOM, GROUP = 15, 4
LENGTH = RANDOM + 1
_MISREAD = str.maketrans({"I": "1", "L": "1", "O": "0"})
_SEPARATORS = str.maketrans("", "", " -\t")
_VALUES = {letter: value for value, letter in enumerate(ALPHABET)}
_REDUCE = 0b100101  # x^5 + x^2 + 1


def new() -> str:
    """A new code without separators, as it is stored."""
    drawn = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM))
    return drawn + check(drawn)


def check(drawn: str) -> str:
    """The check character: the sum of the characters, each times a power of x, with the lowest power for the last."""
    total = 0
    for letter in drawn:
        total = _doubled(total ^ _VALUES[letter])
    return ALPHABET[total]


def _doubled(value: int) -> int:
    value <<= 1
    return value ^ _REDUCE if value & 32 else value


def read(text: str) -> str | None:
    """The code in a typed or scanned text, as it is stored. None if the text cannot be a code."""
    result = text.upper().translate(_MISREAD).translate(_SEPARATORS)
    if len(result) != LENGTH or not set(result) <= set(ALPHABET):
        return None
    return result if check(result[:RANDOM]) == result[RANDOM:] else None


def grouped(code: str) -> str:
    """For reading: XXXX-XXXX-XXXX-XXXX."""
    return "-".join(code[start : start + GROUP] for start in range(0, len(code), GROUP))


def masked(code: str) -> str:
    """Enough to recognise the code, but not to use it."""
    return f"{code[:GROUP]}-••••-••••-••••"
