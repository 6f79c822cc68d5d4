"""The page's translations: complete, compiled, and with the same placeholders."""

import gettext
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils.translation.template import templatize

ROOT = Path(__file__).parents[2]
CATALOGUES = ROOT / "scanpage" / "locale"
TRANSLATED_LANGUAGES = [code for code, _name in settings.LANGUAGES if code != "en"]
ENTRY = re.compile(r'^msgid "(.*)"\nmsgstr "(.*)"$', re.MULTILINE)
CALL = re.compile(r"""(?:gettext|\b_)\(\s*u?(['\"])(.+?)(?<!\\)\1""", re.DOTALL)


def marked_texts() -> set[str]:
    """The texts that the page's templates and modules mark for translation."""
    templates = [templatize(path.read_text()) for path in (ROOT / "templates" / "scanpage").glob("*.html")]
    texts = {match[2] for text in templates for match in CALL.finditer(text)}
    for module in (ROOT / "scanpage").glob("*.py"):
        texts |= set(re.findall(r'\b_\("([^"]+)"\)', module.read_text()))
    return {text.replace("\\'", "'").replace("%%", "%") for text in texts}


def catalogue(language: str) -> dict[str, str]:
    text = (CATALOGUES / language / "LC_MESSAGES" / "django.po").read_text()
    return {key: value for key, value in ENTRY.findall(text) if key}


def test_marked_texts_of_templates_and_modules_are_found():
    assert len(marked_texts()) > 90
    assert {"Genuine", "Not recognised", "Check your product – %(name)s"} <= marked_texts()


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_every_text_is_translated(language):
    assert marked_texts() - set(catalogue(language)) == set()
    assert [key for key, value in catalogue(language).items() if not value.strip()] == []


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_compiled_catalogue_equals_its_source(language):
    with (CATALOGUES / language / "LC_MESSAGES" / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)

    assert {key: compiled.gettext(key) for key in catalogue(language)} == catalogue(language)


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_translations_keep_placeholders_and_final_colons(language):
    for key, value in catalogue(language).items():
        assert re.findall(r"%\(\w+\)s", key) == re.findall(r"%\(\w+\)s", value), key
        assert key.endswith(":") == value.endswith(":"), key
        assert "<" not in value
