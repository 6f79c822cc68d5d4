"""Every page of the portal in German and in Arabic: it answers, runs the right way, and says what is translated."""

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

MORE = [
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
# Scripts, the names of icons, and the languages' own names.
SILENT = re.compile(
    r"<(script|style|noscript)\b.*?</\1>|<!--.*?-->"
    r"|<span[^>]*\bmaterial-symbols-outlined\b[^>]*>[^<]*<|<[^>]*\blang=[^>]*>[^<]*<",
    re.S,
)
# What tests call their rows, the name of a rule's kind in it, and the columns of files.
DATA = {"First login of the day", "location", "notes", "payload", "description", "event"}


def pages(rows: dict[str, Any]) -> list[str]:
    places = {"batch": rows["authcodes.batchrange"].pk, "campaign": rows["campaigns.campaign"].pk}
    return [
        *(address(label) for label in LABELS),
        *(address(label, "change", rows[label].pk) for label in LABELS),
        *(address(label, "add") for label in LABELS if roles.may("owner", roles.ADD, label)),
        *(page.format(**places) for page in MORE),
    ]


def shown(page: str) -> set[str]:
    """What stands between the tags, and what buttons and fields say to whoever cannot see them."""
    between = re.findall(r">([^<>]+)<", SILENT.sub("<", page))
    attributes = re.findall(r'\b(?:aria-label|title|placeholder|alt)="([^"]+)"', page)
    return {html.unescape(each).strip() for each in [*between, *attributes]} - {""}


@pytest.fixture
def world(db: None) -> tuple[Brand, dict[str, Any]]:
    return brand_with_one_of_each("northwind")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_in_the_language(world: tuple[Brand, dict[str, Any]], language: str) -> None:
    brand, rows = world
    person = staff(brand)
    User.objects.filter(pk=person.pk).update(portal_language=language)
    client: Client = browser(person)
    known = {english: translated for english, translated in translations(language).items() if english != translated}
    head = f'<html lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}"'
    complaints = []

    for where in pages(rows):
        response = client.get(where)
        page = text(response)
        if response.status_code != 200:
            complaints.append(f"{where}: {response.status_code}")
        elif head not in page and "/search/" not in where:
            complaints.append(f"{where}: {page[:80]}")
        # A translation may be what another text says in English: "Start" is "Home" in German.
        english = {each for each in shown(page) & known.keys() if each not in known.values()} - DATA
        complaints += [f"{where}: {each!r} is {known[each]!r}" for each in sorted(english)]

    assert not complaints, "\n".join(complaints)
