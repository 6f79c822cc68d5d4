"""Every word of the page is there in every language, compiled, and without what would break its sentences."""

import gettext
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils.translation.template import templatize

ROOT = Path(__file__).parents[2]
CATALOGUES = ROOT / "scanpage" / "locale"
OTHERS = [code for code, _name in settings.LANGUAGES if code != "en"]
ENTRY = re.compile(r'^msgid "(.*)"\nmsgstr "(.*)"$', re.MULTILINE)
CALL = re.compile(r"""(?:gettext|\b_)\(\s*u?(['\"])(.+?)(?<!\\)\1""", re.DOTALL)


def marked_texts() -> set[str]:
    """What the templates of the page and its modules mark for translation."""
    templates = [templatize(path.read_text()) for path in (ROOT / "templates" / "scanpage").glob("*.html")]
    found = {match[2] for text in templates for match in CALL.finditer(text)}
    for module in (ROOT / "scanpage").glob("*.py"):
        found |= set(re.findall(r'\b_\("([^"]+)"\)', module.read_text()))
    return {each.replace("\\'", "'").replace("%%", "%") for each in found}


def catalogue(language: str) -> dict[str, str]:
    text = (CATALOGUES / language / "LC_MESSAGES" / "django.po").read_text()
    return {key: value for key, value in ENTRY.findall(text) if key}


def test_there_are_words():
    assert len(marked_texts()) > 90
    assert {"Genuine", "Not recognised", "Check your product – %(name)s"} <= marked_texts()


@pytest.mark.parametrize("language", OTHERS)
def test_every_word_is_translated(language):
    assert marked_texts() - set(catalogue(language)) == set()
    assert [key for key, value in catalogue(language).items() if not value.strip()] == []


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_compiled_is_what_is_written(language):
    with (CATALOGUES / language / "LC_MESSAGES" / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)

    assert {key: compiled.gettext(key) for key in catalogue(language)} == catalogue(language)


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_keeps_what_is_filled_in_and_how_a_sentence_ends(language):
    for key, value in catalogue(language).items():
        assert re.findall(r"%\(\w+\)s", key) == re.findall(r"%\(\w+\)s", value), key
        assert key.endswith(":") == value.endswith(":"), key
        assert "<" not in value
