"""Every page of the portal in German and in Arabic: its status, text direction and translated texts."""

import html
import re
from typing import Any

import pytest
from django.test import Client

from brands.identity import roles
from brands.models.people import User
from brands.models.tenants import Brand
from tests.support.machinery.catalogues import LANGUAGES, translations
from tests.support.portal import LABELS, address, brand_with_one_of_each, browser, staff, text

FURTHER_PATHS = [
    "/admin/",
    "/admin/account/",
    "/admin/password_change/",
    "/admin/loyalty/redemption/till/",
    "/admin/authcodes/authcode/export/",
    "/admin/authcodes/scan/export/",
    "/admin/authcodes/recall/add/?batch={batch}",
    "/admin/campaigns/campaign/{campaign}/page/",
    "/admin/campaigns/campaign/{campaign}/pause/",
    "/admin/campaigns/campaign/add/?form=all",
    "/admin/campaigns/campaign/new/",
    "/admin/campaigns/campaign/new/?template=collect",
    "/admin/search/?s=northwind",
]
# Scripts, comments, names of icons, and texts with a language of their own.
IGNORED_HTML = re.compile(
    r"<(script|style|noscript)\b.*?</\1>|<!--.*?-->"
    r"|<span[^>]*\bmaterial-symbols-outlined\b[^>]*>[^<]*<|<[^>]*\blang=[^>]*>[^<]*<",
    re.S,
)
# Names of test rows, the name of an earning rule's kind, and columns of files.
UNTRANSLATED = {"First login of the day", "location", "notes", "payload", "description", "event"}


def paths_of(rows: dict[str, Any]) -> list[str]:
    row_ids = {"batch": rows["authcodes.batchrange"].pk, "campaign": rows["campaigns.campaign"].pk}
    return [
        *(address(label) for label in LABELS),
        *(address(label, "change", rows[label].pk) for label in LABELS),
        *(address(label, "add") for label in LABELS if roles.may("owner", roles.ADD, label)),
        *(path.format(**row_ids) for path in FURTHER_PATHS),
    ]


def visible_texts(page: str) -> set[str]:
    """The texts between the tags, and the labels of buttons and fields for screen readers."""
    text_nodes = re.findall(r">([^<>]+)<", IGNORED_HTML.sub("<", page))
    attributes = re.findall(r'\b(?:aria-label|title|placeholder|alt)="([^"]+)"', page)
    return {html.unescape(part).strip() for part in [*text_nodes, *attributes]} - {""}


@pytest.fixture
def brand_and_rows(db: None) -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each("northwind")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_translated(brand_and_rows: tuple[Brand, dict[str, Any]], language: str) -> None:
    brand, rows = brand_and_rows
    user = staff(brand)
    User.objects.filter(pk=user.pk).update(portal_language=language)
    client: Client = browser(user)
    translated_texts = {
        english: translated for english, translated in translations(language).items() if english != translated
    }
    head = f'<html lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}"'
    problems = []

    for path in paths_of(rows):
        response = client.get(path)
        page = text(response)
        if response.status_code != 200:
            problems.append(f"{path}: {response.status_code}")
        elif head not in page and "/search/" not in path:
            problems.append(f"{path}: {page[:80]}")
        # A translation may be what another text says in English: "Start" is "Home" in German.
        english = {
            text_part
            for text_part in visible_texts(page) & translated_texts.keys()
            if text_part not in translated_texts.values()
        } - UNTRANSLATED
        problems += [f"{path}: {text_part!r} is {translated_texts[text_part]!r}" for text_part in sorted(english)]

    assert not problems, "\n".join(problems)
