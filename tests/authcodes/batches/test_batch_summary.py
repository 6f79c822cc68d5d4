"""The summary next to a batch's form: the batch it would create, and its errors, while the form is filled in."""

import re

import pytest
from django.utils import timezone

from authcodes.models.batches import BatchRange
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands.models.tenants import Brand
from loyalty.models.levels import BrandLevel
from tests.authcodes.batches.batch_pages import summary
from tests.support import factories
from tests.support.portal import address, browser, in_days, staff, text
from tests.support.print_jobs import SCHEME

pytestmark = pytest.mark.django_db


def errors_of(answer):
    return [str(label) for label, _message in answer.context["wrong"]]


def test_summary_lists_codes_printed_text_product_and_points(client, brand):
    product, campaign = factories.product(brand, title="Honey"), factories.campaign(brand, campaign_name="Spring")

    answer = summary(client, brand, product=product.pk, campaign=campaign.pk, points_per_scan=5, scan_limit=3)

    preview = answer.context["preview"]
    assert (preview["first"], preview["last"], preview["quantity"]) == ("AUT-000007", "AUT-000031", "25")
    assert preview["printed"] == f"{SCHEME}://{brand.hostnames.get().hostname}/s/AUT-000007"
    assert preview["lines"] == [
        f"All codes are assigned to {product}.",
        "A scan earns 5 points.",
        "Each code can be scanned 3 times.",
        "Scans count for the campaign Spring.",
        "While the campaign is not running, scans earn their usual points.",
        "Maximum if every code is scanned as often as allowed: 375 points.",
        "The prefix is new. Saving reserves it for this brand, if it is free.",
    ]
    assert "Ready to save" in text(answer)
    assert not BatchRange.objects.exists()


def test_summary_without_a_primary_hostname_uses_another_hostname(client, brand):
    brand.hostnames.update(is_primary=False)

    preview = summary(client, brand).context["preview"]

    assert preview["printed"] == f"{SCHEME}://{brand.hostnames.get().hostname}/s/AUT-000007"


def test_summary_of_a_signed_unlimited_batch_without_product(client, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "s" * 40}

    preview = summary(client, brand, signed="protected", scan_limit="", expiration_date=in_days(9)).context["preview"]

    assert preview["printed"].endswith("/s/AUT-000007.…")
    assert preview["lines"][0].startswith("No product is assigned")
    assert preview["lines"][1:3] == [
        "A scan earns the points of the customer's level.",
        "Each code can be scanned any number of times.",
    ]
    assert preview["lines"][3].startswith("The codes are valid to the end of")
    assert preview["lines"][4].startswith("Each code is printed with its own secret tag")


def test_points_of_zero_leave_a_scan_to_the_level_in_the_summary_and_in_fact(client, brand, customer):
    product = factories.product(brand, redeem_point_value=50)

    lines = summary(client, brand, product=product.pk, points_per_scan=0).context["preview"]["lines"]
    code = factories.code(brand, product=product, points_per_scan=0)
    result = scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))

    assert (lines[1], result.points) == ("A scan earns the points of the customer's level.", 10)


def test_summary_shows_points_set_by_the_product(client, brand):
    product = factories.product(brand, redeem_point_value=1)

    assert summary(client, brand, product=product.pk).context["preview"]["lines"][1] == "A scan earns 1 point."


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        ({"quantity": 0}, ["Quantity"]),
        ({"quantity": 10**30}, ["Quantity"]),
        ({"starting_number": 999_990}, ["Number width"]),
        ({"prefix": "A/B"}, ["Prefix"]),
        ({"range_name": "Taken"}, ["Batch name"]),
        ({"expiration_date": in_days(-2)}, ["Expiration date"]),
        ({"expiration_date": "soon", "prefix": "é"}, ["Expiration date", "Prefix"]),
        ({"signed": "protected"}, ["Protection"]),
    ],
)
def test_summary_lists_the_same_errors_as_saving(client, brand, settings, fields, labels):
    settings.CODE_TAG_SECRETS = {}
    factories.batch(brand, range_name="Taken")

    assert sorted(errors_of(summary(client, brand, **fields))) == labels


def test_summary_names_every_overlapping_range_of_the_brand(client, brand):
    factories.batch(brand, range_name="Winter", prefix="AUT-", number_width=6, starting_number=1, quantity=8)
    factories.batch(brand, range_name="Summer", prefix="AUT-0000", number_width=2, starting_number=30, quantity=9)

    answer = summary(client, brand)

    html = text(answer)
    assert errors_of(answer) == ["Starting number"] * 2
    assert answer.context["preview"]["last"] == "AUT-000031"
    assert "AUT-000007 to AUT-000008 overlap with the range Winter" in html
    assert "AUT-000030 to AUT-000031 overlap with the range Summer" in html


def test_summary_of_an_empty_form_lists_missing_fields_without_errors(client, brand):
    answer = client.get(address("authcodes.batchrange", "summary"), {"brand": brand.pk, "prefix": "AUT-"})

    assert [str(label) for label in answer.context["missing"]] == [
        "Batch name",
        "Quantity",
        "Starting number",
        "Number width",
        "Protection",
    ]
    assert (answer.context["wrong"], answer.context["preview"]) == ([], None)


def test_summary_shows_no_printed_text_until_plain_or_protected_is_chosen(client, brand):
    preview = summary(client, brand, signed="").context["preview"]

    assert (preview["last"], preview["printed"]) == ("AUT-000031", "")
    assert not any("tag" in line for line in preview["lines"])


def test_summary_shows_codes_before_the_batch_has_a_name(client, brand):
    assert summary(client, brand, range_name="").context["preview"]["last"] == "AUT-000031"


def test_summary_for_another_brand_shows_nothing(client):
    zebra = factories.brand(name="zebra")
    factories.batch(zebra, range_name="zebra range", prefix="AUT-", number_width=6, quantity=9)

    answer = summary(client, zebra, product=factories.product(zebra, title="zebra food").pk)

    assert answer.context["preview"] is None
    assert "zebra" not in text(answer)


@pytest.mark.parametrize(("role", "status"), [("manager", 200), ("printer", 200), ("support", 403)])
def test_summary_needs_the_permission_to_add_batches(brand, role, status):
    assert summary(browser(staff(brand, role=role)), brand).status_code == status


def test_form_of_a_new_batch_loads_the_summary(client):
    html = text(client.get(address("authcodes.batchrange", "add")))

    assert f'data-live="{address("authcodes.batchrange", "summary")}"' in html
    assert "portal/live_panel" in html


@pytest.mark.parametrize("batch_count", [1, 40])
def test_summary_query_count_does_not_grow_with_batches(client, brand, django_assert_max_num_queries, batch_count):
    for _ in range(batch_count):
        factories.batch(brand)

    with django_assert_max_num_queries(26):  # most are the checks of a model form
        summary(client, brand)


def test_summary_of_a_plain_batch_warns_in_red_that_codes_can_be_guessed(client, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "k" * 32}

    plain, protected = summary(client, brand), summary(client, brand, signed="protected")

    [classes] = re.findall(r'<p class="([^"]*)">Anyone can guess the next code\.</p>', text(plain))
    assert "text-red-600" in classes.split()
    assert "Anyone can guess the next code." not in text(protected)


def test_summary_of_a_plain_batch_suggests_requiring_confirmed_addresses(client, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "k" * 32}
    advice = "Require confirmed e-mail addresses"
    plain, protected = summary(client, brand), summary(client, brand, signed="protected")
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    already_required = summary(client, brand)

    assert advice in text(plain)
    assert advice not in text(protected) + text(already_required)


@pytest.mark.parametrize(("role", "is_linked"), [("owner", True), ("manager", False)])
def test_suggestion_links_to_the_setting_only_for_roles_that_may_change_it(brand, role, is_linked):
    client = browser(staff(brand, role=role))
    link = f'href="/admin/brands/brand/{brand.pk}/change/#id_requires_confirmed_email"'

    page_text = text(summary(client, brand))

    assert (link in page_text) == is_linked
    assert ("An owner can change this" in page_text) != is_linked


@pytest.mark.parametrize(
    ("choice", "expected_text"),
    [("points", "scans earn their usual points"), ("nothing", "scans earn nothing"), ("", "their usual points")],
)
def test_summary_states_what_scans_earn_after_the_campaign(client, brand, choice, expected_text):
    campaign = factories.campaign(brand)

    answer = summary(client, brand, campaign=campaign.pk, after_campaign=choice)

    assert expected_text in text(answer)


def test_summary_warns_that_scans_earn_one_point_without_levels(client, brand):
    BrandLevel.objects.filter(brand=brand).delete()
    warning = "A scan earns 1 point: this brand has no levels"

    before = text(summary(client, brand))
    factories.level(brand)

    assert warning in before
    assert warning not in text(summary(client, brand))
