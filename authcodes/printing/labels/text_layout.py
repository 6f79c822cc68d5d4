"""Text layout: prepares text of any script for a font without a shaping engine, and fits it into a width.

Arabic letters take the joined forms that Unicode has characters for; then the line is put into visual order (UAX 9).
"""

import unicodedata
from collections.abc import Callable
from functools import cache

from fpdf.bidi import BidiParagraph, auto_detect_base_direction
from fpdf.enums import TextDirection

from authcodes.printing.labels import fonts
from authcodes.printing.labels.fonts import JOINERS, is_mark

MAX_CHARACTERS = 500  # of one text; nothing longer fits on a label
ELLIPSIS = "…"
LAM = "\u0644"
TATWEEL = "\u0640"
JOINER = "\u200d"

Measure = Callable[[str], float]


def clean(text: str) -> str:
    """One line without control characters, and without marks that would reverse the text after them."""
    saved = "".join(_retained(character) for character in unicodedata.normalize("NFC", text[:MAX_CHARACTERS]))
    return " ".join(saved.split())


def _retained(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    if character in JOINERS:
        return character
    # An emoji newer than this Python version is still text.
    is_nothing = category in ("Cf", "Cs", "Co") or (category == "Cn" and not 0x1F000 <= ord(character) <= 0x1FAFF)
    return "" if is_nothing or "\ufe00" <= character <= "\ufe0f" else character


def unknown(text: str) -> str:
    """The characters of a text that would be printed as U+FFFD, without duplicates."""
    return fonts.unknown(shaped(clean(text)))


def right_to_left(text: str) -> bool:
    """Whether the first strong character is right-to-left."""
    return not text.isascii() and auto_detect_base_direction(text) is TextDirection.RTL


def wrapped(text: str, *, width: float, most_lines: int, measure: Measure) -> list[str]:
    """`text` in lines no wider than `width`, broken at spaces if possible; the last line is truncated if necessary."""
    lines: list[str] = []
    remaining = text
    while remaining and len(lines) < most_lines - 1:
        line = _head(remaining, width, measure)
        lines.append(line.rstrip())
        remaining = remaining[len(line) :].lstrip()
    return [*lines, cut(remaining, width=width, measure=measure)] if remaining and most_lines > 0 else lines


def cut(text: str, *, width: float, measure: Measure) -> str:
    """`text`, or as much as fits into `width` with an ellipsis; empty if not even that fits."""
    if measure(text) <= width:
        return text
    length = _fitting(text, width - measure(ELLIPSIS), measure)
    return text[:length].rstrip() + ELLIPSIS if length else ""


def _head(text: str, width: float, measure: Measure) -> str:
    """The part of `text` that fits on a line: whole words, or a part of the first."""
    if measure(text) <= width:
        return text
    length = max(1, _fitting(text, width, measure))
    if length == len(text) or text[length] == " ":
        return text[:length]
    space = text.rfind(" ", 0, length)
    return text[:space] if space > 0 else text[:length]


def _fitting(text: str, width: float, measure: Measure) -> int:
    length = 0
    while length < len(text) and measure(text[: length + 1]) <= width:
        length += 1
    while 0 < length < len(text) and is_mark(text[length]):
        length -= 1  # a letter keeps its marks
    return length


def shaped(text: str) -> str:
    """Arabic letters in their joined forms, still in logical order."""
    if text.isascii():
        return text
    result, place = [], 0
    while place < len(text):
        forms, length = _forms_at(text, place)
        if not forms:
            result.append(text[place])
        else:
            before = _joins_left(_neighbour(text, place, -1))
            after = "initial" in forms and _joins_right(_neighbour(text, place + length - 1, 1))
            result.append(forms[_POSITIONS[before, after]])
        place += length
    return "".join(result)


_POSITIONS = {
    (False, False): "isolated",
    (True, False): "final",
    (False, True): "initial",
    (True, True): "medial",
}


def _forms_at(text: str, place: int) -> tuple[dict[str, str], int]:
    forms = _arabic_forms()
    pair = text[place : place + 2]
    if pair in forms and len(pair) == 2:
        return forms[pair], 2
    return forms.get(text[place], {}), 1


def _neighbour(text: str, place: int, step: int) -> str:
    """The neighbouring letter, ignoring vowel marks."""
    place += step
    while 0 <= place < len(text) and unicodedata.category(text[place]) == "Mn":
        place += step
    return text[place] if 0 <= place < len(text) else ""


def _joins_left(letter: str) -> bool:
    """Whether a letter joins the next one."""
    return letter in (TATWEEL, JOINER) or "initial" in _arabic_forms().get(letter, {})


def _joins_right(letter: str) -> bool:
    """Whether a letter joins the previous one."""
    return letter in (TATWEEL, JOINER) or "final" in _arabic_forms().get(letter, {})


@cache
def _arabic_forms() -> dict[str, dict[str, str]]:
    """For each letter, and lam with an alef, the characters that Unicode has for its positions."""
    result: dict[str, dict[str, str]] = {}
    for number in (*range(0xFB50, 0xFC00), *range(0xFE80, 0xFEFD)):
        position, *letters = unicodedata.decomposition(chr(number)).split() or [""]
        plain = "".join(chr(int(letter, 16)) for letter in letters)
        if len(plain) == 1 or (len(plain) == 2 and plain[0] == LAM and plain[1] in "\u0622\u0623\u0625\u0627"):
            result.setdefault(plain, {})[position.strip("<>")] = chr(number)
    # Some have no isolated or final form of their own.
    return {letter: forms for letter, forms in result.items() if {"isolated", "final"} <= forms.keys()}


def in_order_of_sight(line: str, *, right_to_left: bool) -> str:
    """A line's characters from left to right, with mirrored brackets and marks after their letters."""
    if line.isascii() and not right_to_left:
        return line
    base = TextDirection.RTL if right_to_left else TextDirection.LTR
    seen: list[str] = []
    marks: list[str] = []
    for character in BidiParagraph(line, base_direction=base).get_reordered_characters():
        backwards = character.embedding_level % 2 == 1
        if backwards and unicodedata.category(character.character) == "Mn":
            marks.insert(0, character.character)
            continue
        seen.append(character.character.translate(_TURNED) if backwards else character.character)
        seen += marks
        marks = []
    return "".join(seen + marks)


_TURNED = str.maketrans("()[]{}<>\u00ab\u00bb\u2039\u203a", ")(][}{><\u00bb\u00ab\u203a\u2039")
