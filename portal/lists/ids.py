"""What may be the id of a row."""


def is_id(text: str) -> bool:
    """Whether a row may have this number; what is none of them makes PostgreSQL fail."""
    return text.isascii() and text.isdecimal() and len(text) < 19
