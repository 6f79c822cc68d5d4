"""Tenancy of the portal's forms: no form adds or changes rows of another brand, or refers to them."""

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


def new_row_data(brand: Brand, rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """For each model, the form data of a new row of `brand` that refers to `rows`."""
    numbering = {"prefix": "NEW-", "starting_number": 1, "number_width": 4, "quantity": 1, "scan_limit": 1}
    numbering["signed"] = "plain"
    tables = {"milestones-TOTAL_FORMS": 0, "milestones-INITIAL_FORMS": 0}
    return {
        "brands.apikey": {"brand": brand.pk, "name": "n", "kind": "app", "reason": "n"},
        "brands.staffrole": {
            "brand": brand.pk,
            "user": rows["brands.user"].pk,
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
            "batch": rows["authcodes.batchrange"].pk,
            "recall_id": "n",
            "contact": "n",
            "message": "n",
            "reason": "n",
        },
    }


DISPLAYING_A_SECRET = {"brands.apikey", "loyalty.webhookendpoint"}  # the response itself contains the new secret
PERSONAL = {"brands.savedlist", "jobs.reportschedule"}  # only their owner may change them
ADDABLE = sorted(new_row_data(Brand(), dict.fromkeys(LABELS, Brand())))


@pytest.mark.parametrize("label", ADDABLE)
def test_rows_can_be_added_only_to_the_own_brand(client: Client, own_data: Any, foreign_data: Any, label: str) -> None:
    count = page(label).model.objects.count

    before = count()
    rejected = add(client, label, new_row_data(*foreign_data)[label])
    assert rejected.status_code == 200
    assert set(errors(rejected)) <= {"brand", "batch", "user"}
    assert errors(rejected)
    assert count() == before

    form_data = new_row_data(*own_data)[label]
    if label == "brands.staffrole":  # a role is for a colleague, here of another brand of the same owner
        other_brand = factories.brand()
        form_data, client = (
            {"brand": own_data[0].pk, "user": staff(other_brand).pk, "role": "support"},
            browser(staff(own_data[0], other_brand)),
        )
        before = count()
    accepted = add(client, label, form_data)
    assert accepted.status_code == (200 if label in DISPLAYING_A_SECRET else 302)
    assert count() == before + 1


UNIQUE_FIELDS = [
    ("authcodes.product", "sku"),
    ("authcodes.batchrange", "range_name"),
    ("authcodes.labellayout", "name"),
    ("authcodes.printer", "name"),
    ("loyalty.brandlevel", "threshold"),
    ("campaigns.earningrule", "name"),
]


@pytest.mark.parametrize(("label", "field"), UNIQUE_FIELDS)
def test_unique_value_of_another_row_is_rejected(brand: Brand, label: str, field: str) -> None:
    first, second = row_pairs(brand)[label]
    client, url = browser(staff(brand)), address(label, "change", second.pk)

    rejected = client.post(url, {**form_of(client.get(url)), field: getattr(first, field)})

    assert rejected.status_code == 200
    assert "already exists" in str(errors(rejected))
    before = getattr(second, field)
    second.refresh_from_db()
    assert getattr(second, field) == before


def row_pairs(brand: Brand) -> dict[str, tuple[Any, Any]]:
    """For each model with a field that is unique in a brand, two different rows."""
    levels = factories.level(brand, "Silver", 100), factories.level(brand, "Gold", 200)
    rules = factories.earning_rule(brand, "log-user-login"), factories.earning_rule(brand, "order-complete")
    printers = [Printer.objects.create(brand=brand, name=name, scale="1.01") for name in ("Hall", "Office")]
    layouts = [
        LabelLayout.objects.create(brand=brand, name=name, label_width=70, label_height=30, parts=LAYOUT_PARTS)
        for name in ("Jars", "Tins")
    ]
    return {
        "authcodes.labellayout": (layouts[0], layouts[1]),
        "authcodes.product": (factories.product(brand), factories.product(brand)),
        "authcodes.batchrange": (factories.batch(brand), factories.batch(brand)),
        "authcodes.printer": (printers[0], printers[1]),
        "loyalty.brandlevel": levels,
        "campaigns.earningrule": rules,
    }


@pytest.mark.parametrize("name", ["product", "campaign"])
def test_new_batch_cannot_refer_to_rows_of_another_brand(
    client: Client, own_data: Any, foreign_data: Any, name: str
) -> None:
    form_data = {
        **new_row_data(*own_data)["authcodes.batchrange"],
        name: foreign_data[1][f"{'authcodes' if name == 'product' else 'campaigns'}.{name}"].pk,
    }

    rejected = client.post(address("authcodes.batchrange", "add"), form_data)

    assert list(errors(rejected)) == [name]
    assert not BatchRange.objects.filter(range_name="n").exists()


def test_existing_batch_cannot_get_a_campaign_of_another_brand(
    client: Client, own_data: Any, foreign_data: Any
) -> None:
    batch = own_data[1]["authcodes.batchrange"]
    url = address("authcodes.batchrange", "change", batch.pk)

    rejected = client.post(url, {**form_of(client.get(url)), "campaign": foreign_data[1]["campaigns.campaign"].pk})

    assert list(errors(rejected)) == ["campaign"]
    batch.refresh_from_db()
    assert batch.campaign == own_data[1]["campaigns.campaign"]


def test_brand_of_a_row_cannot_be_changed(own_data: Any, foreign_data: Any) -> None:
    client = browser(staff(own_data[0], foreign_data[0]))
    product = own_data[1]["authcodes.product"]
    url = address("authcodes.product", "change", product.pk)

    client.post(url, {**form_of(client.get(url)), "brand": foreign_data[0].pk, "title": "renamed"})

    product.refresh_from_db()
    assert (product.brand, product.title) == (own_data[0], "renamed")


def test_inline_form_does_not_change_rows_of_another_brand(client: Client, own_data: Any, foreign_data: Any) -> None:
    campaign, foreign_milestone = (
        own_data[1]["campaigns.campaign"],
        Milestone.objects.get(campaign=foreign_data[1]["campaigns.campaign"]),
    )
    url = address("campaigns.campaign", "change", campaign.pk)
    form_data = form_of(client.get(url))
    for name in ("milestone_id", "campaign"):
        form_data[f"milestones-0-{name}"] = getattr(
            foreign_milestone, name if name == "milestone_id" else "campaign_id"
        )

    client.post(url, {**form_data, "milestones-0-reward_name": "stolen"})

    foreign_milestone.refresh_from_db()
    assert foreign_milestone.reward_name == f"{MARKER} reward"
    assert foreign_milestone.campaign == foreign_data[1]["campaigns.campaign"]


@pytest.mark.parametrize(
    ("label", "action"),
    [(label, action) for label in LABELS for action in [*page(label).actions, "delete_selected"]],
)
def test_list_actions_do_not_change_rows_of_another_brand(
    client: Client, foreign_data: Any, label: str, action: str
) -> None:
    row = foreign_data[1][label]
    before = type(row).objects.filter(pk=row.pk).values().get()
    form_data = {"action": action, "_selected_action": [str(row.pk)], "index": 0, "post": "yes", "select_across": 1}
    form_data |= {"reason": "stolen"}

    response = client.post(address(label), form_data, follow=True)

    assert response.status_code == 200
    assert MARKER not in text(response).lower()
    assert type(row).objects.filter(pk=row.pk).values().get() == before


class TestSeveralBrands:
    """Staff who are an owner of one brand and support of another: the role at the row's brand applies."""

    @pytest.fixture
    def client(self, own_data: Any, foreign_data: Any) -> Client:
        user = staff(own_data[0])
        StaffRole.objects.create(user=user, brand=foreign_data[0], role="support")
        return browser(user)

    def test_sees_rows_of_both_brands_with_their_brand(self, client: Client) -> None:
        page_html = text(client.get(address("authcodes.product")))

        assert all(name in page_html for name in ("aardvark product", "zebra product", "aardvark brand", "zebra brand"))

    @pytest.mark.parametrize("label", ADDABLE)
    def test_adds_only_where_the_role_allows(self, client: Client, foreign_data: Any, label: str) -> None:
        before = page(label).model.objects.count()

        rejected = add(client, label, new_row_data(*foreign_data)[label])

        assert errors(rejected)
        assert page(label).model.objects.count() == before

    @pytest.mark.parametrize(
        "label", [label for label in LABELS if may("owner", CHANGE, label) and label not in PERSONAL]
    )
    def test_changes_only_where_the_role_allows(
        self, client: Client, own_data: Any, foreign_data: Any, label: str
    ) -> None:
        form_data = {"title": "changed"}

        expected_status = 403 if may("support", VIEW, label) else 404
        assert (
            client.post(address(label, "change", foreign_data[1][label].pk), form_data).status_code == expected_status
        )
        assert client.post(address(label, "change", own_data[1][label].pk), form_data).status_code in {
            200,
            302,
        }

    def test_deactivates_codes_only_where_the_role_allows(
        self, client: Client, own_data: Any, foreign_data: Any
    ) -> None:
        codes = [rows["authcodes.authcode"] for _, rows in (own_data, foreign_data)]

        client.post(
            address("authcodes.authcode"),
            {"action": "deactivate", "_selected_action": [code.pk for code in codes], "reason": "stolen"},
        )

        assert list(AuthCode.objects.deactivated()) == [codes[0]]

    def test_cannot_mix_brands_in_one_row(self, own_data: Any, foreign_data: Any) -> None:
        client = browser(staff(own_data[0], foreign_data[0]))
        form_data = {
            **new_row_data(*own_data)["authcodes.batchrange"],
            "product": foreign_data[1]["authcodes.product"].pk,
        }

        rejected = client.post(address("authcodes.batchrange", "add"), form_data)

        assert errors(rejected) == {"product": ["Choose one of the same brand."]}


def test_form_displays_and_parses_times_in_the_zone_of_the_rows_brand() -> None:
    first_brand, second_brand = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/New_York")
    campaign = factories.campaign(first_brand, starts_at=datetime(2026, 3, 1, 18, 30, tzinfo=UTC))
    for user in (staff(first_brand), staff(first_brand, second_brand)):
        client, url = browser(user), address("campaigns.campaign", "change", campaign.pk)

        response = client.get(url)

        assert 'value="2026-03-02"' in text(response)
        assert 'value="00:00:00"' in text(response)
        assert text(response).count("Time <bdi>(Asia/Kolkata)</bdi></label>") == 2
        form_data = form_of(response) | {"starts_at_0": "2026-04-01", "starts_at_1": "09:00:00"}
        form_data.pop("starts_at", None)
        assert client.post(url, form_data).status_code == 302
        campaign.refresh_from_db()
        assert campaign.starts_at == datetime(2026, 4, 1, 3, 30, tzinfo=UTC)
        campaign.starts_at = datetime(2026, 3, 1, 18, 30, tzinfo=UTC)
        campaign.save()


@pytest.mark.parametrize(("language", "button_text"), [("en", "Delete level"), ("de", "Stufe löschen")])
def test_delete_button_follows_the_word_order_of_the_language(language: str, button_text: str) -> None:
    level = factories.level(factories.brand())

    response = browser(staff(level.brand)).get(
        address("loyalty.brandlevel", "change", level.pk), headers={"Accept-Language": language}
    )

    assert button_text in text(response)


def test_read_only_times_are_displayed_with_their_zone() -> None:
    brand = factories.brand(time_zone="Asia/Kolkata")
    code = factories.code(brand)
    AuthCode.objects.update(created_at=datetime(2026, 3, 1, 18, 30, tzinfo=UTC))

    client, url = browser(staff(brand)), address("authcodes.authcode", "change", code.pk)
    pages = {language: text(client.get(url, headers={"Accept-Language": language})) for language in ("en", "de", "ar")}

    assert "2 Mar 2026, 00:00 IST" in pages["en"]
    assert "02.03.2026, 00:00 IST" in pages["de"]
    assert "2 مارس 2026, 00:00 IST" in pages["ar"]
