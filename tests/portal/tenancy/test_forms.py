"""The portal's walls: no form makes or changes rows of another brand, or ties one's own to them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.prints import LabelLayout, Printer
from brands.identity.roles import CHANGE, VIEW, may
from brands.models.people import StaffRole
from brands.models.tenants import Brand
from campaigns.models.campaigns import Milestone
from tests.portal.tenancy.conftest import MARKER, add
from tests.support import factories
from tests.support.fakes import wallets
from tests.support.portal import (
    LABELS,
    LAYOUT_PARTS,
    address,
    browser,
    errors,
    form_of,
    page,
    staff,
    text,
)

pytestmark = pytest.mark.django_db


def new_rows(brand: Brand, its: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What one would send to add a row for `brand`, referring to `its` rows."""
    numbering = {"prefix": "NEW-", "starting_number": 1, "number_width": 4, "quantity": 1, "scan_limit": 1}
    numbering["signed"] = "plain"
    tables = {"milestones-TOTAL_FORMS": 0, "milestones-INITIAL_FORMS": 0}
    return {
        "brands.apikey": {"brand": brand.pk, "name": "n", "kind": "app", "reason": "n"},
        "brands.staffrole": {
            "brand": brand.pk,
            "user": its["brands.user"].pk,
            "role": "owner",
            "password1": "a long new one",
            "password2": "a long new one",
        },
        "staff_login.invitation": {"brand": brand.pk, "role": "owner", "email": "new@example.com"},
        "campaigns.campaign": {"brand": brand.pk, "campaign_name": "n", "type": "order", "target_value": 1, **tables},
        "loyalty.webhookendpoint": {"brand": brand.pk, "url": "https://n.example/", "types": ["points.earned"]},
        "loyalty.brandlevel": {
            "brand": brand.pk,
            "name": "n",
            "threshold": 9,
            "scan_reward_type": "points",
            "scan_reward_value": 1,
        },
        "campaigns.earningrule": {
            "brand": brand.pk,
            "kind": "order-complete",
            "name": "Every order",
            "reward_type": "points",
            "reward_value": 1,
            "per": "event",
            "basis": "whole",
            "stacking": "add",
            "priority": 100,
        },
        "campaigns.eventkind": {
            "brand": brand.pk,
            "name": "shop-visit",
            "title": "n",
            "fields-TOTAL_FORMS": 0,
            "fields-INITIAL_FORMS": 0,
        },
        "loyalty.walletissuer": {
            "brand": brand.pk,
            "platform": "google",
            "service_account": SimpleUploadedFile("account.json", wallets.service_account()),
            "issuer_id": wallets.ISSUER_ID,
        },
        "authcodes.codeprefix": {"brand": brand.pk, "prefix": "ANOTHER-"},
        "authcodes.product": {"brand": brand.pk, "sku": "n", "title": "n"},
        "authcodes.batchrange": {"brand": brand.pk, "range_name": "n", **numbering},
        "authcodes.recall": {
            "batch": its["authcodes.batchrange"].pk,
            "recall_id": "n",
            "contact": "n",
            "message": "n",
            "reason": "n",
        },
    }


SHOWN_ONCE = {"brands.apikey", "loyalty.webhookendpoint"}  # a new secret is in the answer itself
OWN = {"brands.savedlist", "jobs.reportschedule"}  # changed by the person they belong to alone
ADDABLE = sorted(new_rows(Brand(), dict.fromkeys(LABELS, Brand())))


@pytest.mark.parametrize("label", ADDABLE)
def test_rows_can_be_added_to_ones_own_brand_only(client: Client, own: Any, foreign: Any, label: str) -> None:
    count = page(label).model.objects.count

    before = count()
    refused = add(client, label, new_rows(*foreign)[label])
    assert refused.status_code == 200
    assert set(errors(refused)) <= {"brand", "batch", "user"}
    assert errors(refused)
    assert count() == before

    form_data = new_rows(*own)[label]
    if label == "brands.staffrole":  # a role is for a colleague, here of another brand of the same owner
        other = factories.brand()
        form_data, client = (
            {"brand": own[0].pk, "user": staff(other).pk, "role": "support"},
            browser(staff(own[0], other)),
        )
        before = count()
    taken = add(client, label, form_data)
    assert taken.status_code == (200 if label in SHOWN_ONCE else 302)
    assert count() == before + 1


RENAMED = [
    ("authcodes.product", "sku"),
    ("authcodes.batchrange", "range_name"),
    ("authcodes.labellayout", "name"),
    ("authcodes.printer", "name"),
    ("loyalty.brandlevel", "threshold"),
    ("campaigns.earningrule", "name"),
]


@pytest.mark.parametrize(("label", "field"), RENAMED)
def test_a_row_cannot_take_what_another_of_its_brand_has(brand: Brand, label: str, field: str) -> None:
    first, second = twins(brand)[label]
    client, its = browser(staff(brand)), address(label, "change", second.pk)

    refused = client.post(its, {**form_of(client.get(its)), field: getattr(first, field)})

    assert refused.status_code == 200
    assert "already exists" in str(errors(refused))
    before = getattr(second, field)
    second.refresh_from_db()
    assert getattr(second, field) == before


def twins(brand: Brand) -> dict[str, tuple[Any, Any]]:
    """Of each kind whose names are unique in a brand two rows that differ."""
    levels = factories.level(brand, "Silver", 100), factories.level(brand, "Gold", 200)
    rules = factories.earning_rule(brand, "log-user-login"), factories.earning_rule(brand, "order-complete")
    printers = [Printer.objects.create(brand=brand, name=name, scale="1.01") for name in ("Hall", "Office")]
    made = [
        LabelLayout.objects.create(brand=brand, name=name, label_width=70, label_height=30, parts=LAYOUT_PARTS)
        for name in ("Jars", "Tins")
    ]
    return {
        "authcodes.labellayout": (made[0], made[1]),
        "authcodes.product": (factories.product(brand), factories.product(brand)),
        "authcodes.batchrange": (factories.batch(brand), factories.batch(brand)),
        "authcodes.printer": (printers[0], printers[1]),
        "loyalty.brandlevel": levels,
        "campaigns.earningrule": rules,
    }


@pytest.mark.parametrize("name", ["product", "campaign"])
def test_own_batch_cannot_refer_to_another_brands_rows(client: Client, own: Any, foreign: Any, name: str) -> None:
    form_data = {
        **new_rows(*own)["authcodes.batchrange"],
        name: foreign[1][f"{'authcodes' if name == 'product' else 'campaigns'}.{name}"].pk,
    }

    refused = client.post(address("authcodes.batchrange", "add"), form_data)

    assert list(errors(refused)) == [name]
    assert not BatchRange.objects.filter(range_name="n").exists()


def test_own_batch_cannot_be_given_another_brands_campaign(client: Client, own: Any, foreign: Any) -> None:
    batch = own[1]["authcodes.batchrange"]
    its = address("authcodes.batchrange", "change", batch.pk)

    refused = client.post(its, {**form_of(client.get(its)), "campaign": foreign[1]["campaigns.campaign"].pk})

    assert list(errors(refused)) == ["campaign"]
    batch.refresh_from_db()
    assert batch.campaign == own[1]["campaigns.campaign"]


def test_row_stays_with_the_brand_it_was_made_for(own: Any, foreign: Any) -> None:
    client = browser(staff(own[0], foreign[0]))
    product = own[1]["authcodes.product"]
    its = address("authcodes.product", "change", product.pk)

    client.post(its, {**form_of(client.get(its)), "brand": foreign[0].pk, "title": "renamed"})

    product.refresh_from_db()
    assert (product.brand, product.title) == (own[0], "renamed")


def test_table_in_a_page_takes_no_rows_of_another_brand(client: Client, own: Any, foreign: Any) -> None:
    campaign, foreign_milestone = (
        own[1]["campaigns.campaign"],
        Milestone.objects.get(campaign=foreign[1]["campaigns.campaign"]),
    )
    its = address("campaigns.campaign", "change", campaign.pk)
    sent = form_of(client.get(its))
    for name in ("milestone_id", "campaign"):
        sent[f"milestones-0-{name}"] = getattr(foreign_milestone, name if name == "milestone_id" else "campaign_id")

    client.post(its, {**sent, "milestones-0-reward_name": "stolen"})

    foreign_milestone.refresh_from_db()
    assert foreign_milestone.reward_name == f"{MARKER} reward"
    assert foreign_milestone.campaign == foreign[1]["campaigns.campaign"]


@pytest.mark.parametrize(
    ("label", "action"),
    [(label, action) for label in LABELS for action in [*page(label).actions, "delete_selected"]],
)
def test_actions_leave_another_brands_rows_alone(client: Client, foreign: Any, label: str, action: str) -> None:
    row = foreign[1][label]
    before = type(row).objects.filter(pk=row.pk).values().get()
    sent = {"action": action, "_selected_action": [str(row.pk)], "index": 0, "post": "yes", "select_across": 1}
    sent |= {"reason": "stolen"}

    response = client.post(address(label), sent, follow=True)

    assert response.status_code == 200
    assert MARKER not in text(response).lower()
    assert type(row).objects.filter(pk=row.pk).values().get() == before


class TestSeveralBrands:
    """Owner here, support there: each row knows which role counts."""

    @pytest.fixture
    def client(self, own: Any, foreign: Any) -> Client:
        person = staff(own[0])
        StaffRole.objects.create(user=person, brand=foreign[0], role="support")
        return browser(person)

    def test_sees_both_and_whose_each_row_is(self, client: Client) -> None:
        shown = text(client.get(address("authcodes.product")))

        assert all(name in shown for name in ("aardvark product", "zebra product", "aardvark brand", "zebra brand"))

    @pytest.mark.parametrize("label", ADDABLE)
    def test_adds_only_where_the_role_allows(self, client: Client, foreign: Any, label: str) -> None:
        before = page(label).model.objects.count()

        refused = add(client, label, new_rows(*foreign)[label])

        assert errors(refused)
        assert page(label).model.objects.count() == before

    @pytest.mark.parametrize("label", [label for label in LABELS if may("owner", CHANGE, label) and label not in OWN])
    def test_changes_only_where_the_role_allows(self, client: Client, own: Any, foreign: Any, label: str) -> None:
        sent = {"title": "changed"}

        hidden = 403 if may("support", VIEW, label) else 404
        assert client.post(address(label, "change", foreign[1][label].pk), sent).status_code == hidden
        assert client.post(address(label, "change", own[1][label].pk), sent).status_code in {200, 302}

    def test_acts_only_where_the_role_allows(self, client: Client, own: Any, foreign: Any) -> None:
        codes = [its["authcodes.authcode"] for _, its in (own, foreign)]

        client.post(
            address("authcodes.authcode"),
            {"action": "deactivate", "_selected_action": [code.pk for code in codes], "reason": "stolen"},
        )

        assert list(AuthCode.objects.deactivated()) == [codes[0]]

    def test_does_not_mix_brands_in_one_row(self, own: Any, foreign: Any) -> None:
        client = browser(staff(own[0], foreign[0]))
        form_data = {**new_rows(*own)["authcodes.batchrange"], "product": foreign[1]["authcodes.product"].pk}

        refused = client.post(address("authcodes.batchrange", "add"), form_data)

        assert errors(refused) == {"product": ["Choose one of the same brand."]}


def test_a_form_shows_and_reads_moments_in_the_zone_of_the_rows_brand() -> None:
    here, there = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/New_York")
    made = factories.campaign(here, starts_at=datetime(2026, 3, 1, 18, 30, tzinfo=UTC))
    for person in (staff(here), staff(here, there)):
        client, form = browser(person), address("campaigns.campaign", "change", made.pk)

        shown = client.get(form)

        assert 'value="2026-03-02"' in text(shown)
        assert 'value="00:00:00"' in text(shown)
        assert text(shown).count("Time <bdi>(Asia/Kolkata)</bdi></label>") == 2
        sent = form_of(shown) | {"starts_at_0": "2026-04-01", "starts_at_1": "09:00:00"}
        sent.pop("starts_at", None)
        assert client.post(form, sent).status_code == 302
        made.refresh_from_db()
        assert made.starts_at == datetime(2026, 4, 1, 3, 30, tzinfo=UTC)
        made.starts_at = datetime(2026, 3, 1, 18, 30, tzinfo=UTC)
        made.save()


@pytest.mark.parametrize(("language", "words"), [("en", "Delete level"), ("de", "Stufe löschen")])
def test_the_button_that_deletes_has_its_words_in_the_languages_order(language: str, words: str) -> None:
    level = factories.level(factories.brand())

    shown = browser(staff(level.brand)).get(
        address("loyalty.brandlevel", "change", level.pk), headers={"Accept-Language": language}
    )

    assert words in text(shown)


def test_a_form_names_the_zone_of_what_cannot_be_changed() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    code = factories.code(brand)
    AuthCode.objects.update(created_at=datetime(2026, 3, 1, 18, 30, tzinfo=UTC))

    client, form = browser(staff(brand)), address("authcodes.authcode", "change", code.pk)
    shown = {language: text(client.get(form, headers={"Accept-Language": language})) for language in ("en", "de", "ar")}

    assert "2 Mar 2026, 00:00 IST" in shown["en"]
    assert "02.03.2026, 00:00 IST" in shown["de"]
    assert "2 مارس 2026, 00:00 IST" in shown["ar"]
