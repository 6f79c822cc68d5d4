"""The summary beside a batch's form: what it would make, and all that is wrong, while it is filled in."""

import pytest

from authcodes.models.batches import BatchRange
from brands.models.tenants import Brand
from loyalty.models.levels import BrandLevel
from tests.authcodes.batches.batch_pages import summary
from tests.support import factories
from tests.support.portal import address, browser, in_days, staff, text
from tests.support.print_jobs import SCHEME

pytestmark = pytest.mark.django_db


def wrong(answer):
    return [str(label) for label, _message in answer.context["wrong"]]


def test_summary_says_what_is_printed_and_assigned(client, brand):
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


def test_summary_without_a_primary_hostname_says_what_is_printed_all_the_same(client, brand):
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


def test_product_may_give_the_points(client, brand):
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
def test_summary_says_all_that_is_wrong_as_saving_would(client, brand, settings, fields, labels):
    settings.CODE_TAG_SECRETS = {}
    factories.batch(brand, range_name="Taken")

    assert sorted(wrong(summary(client, brand, **fields))) == labels


def test_summary_names_every_own_range_that_overlaps(client, brand):
    factories.batch(brand, range_name="Winter", prefix="AUT-", number_width=6, starting_number=1, quantity=8)
    factories.batch(brand, range_name="Summer", prefix="AUT-0000", number_width=2, starting_number=30, quantity=9)

    answer = summary(client, brand)

    shown = text(answer)
    assert wrong(answer) == ["Starting number"] * 2
    assert answer.context["preview"]["last"] == "AUT-000031"
    assert "AUT-000007 to AUT-000008 overlap with the range Winter" in shown
    assert "AUT-000030 to AUT-000031 overlap with the range Summer" in shown


def test_summary_of_an_empty_form_says_what_is_missing_and_scolds_nobody(client, brand):
    answer = client.get(address("authcodes.batchrange", "summary"), {"brand": brand.pk, "prefix": "AUT-"})

    assert [str(label) for label in answer.context["missing"]] == [
        "Batch name",
        "Quantity",
        "Starting number",
        "Number width",
        "Protection",
    ]
    assert (answer.context["wrong"], answer.context["preview"]) == ([], None)


def test_summary_says_nothing_of_print_before_somebody_chose_plain_or_protected(client, brand):
    preview = summary(client, brand, signed="").context["preview"]

    assert (preview["last"], preview["printed"]) == ("AUT-000031", "")
    assert not any("tag" in line for line in preview["lines"])


def test_codes_are_told_before_the_range_has_a_name(client, brand):
    assert summary(client, brand, range_name="").context["preview"]["last"] == "AUT-000031"


def test_summary_for_another_brand_tells_nothing(client):
    zebra = factories.brand(name="zebra")
    factories.batch(zebra, range_name="zebra range", prefix="AUT-", number_width=6, quantity=9)

    answer = summary(client, zebra, product=factories.product(zebra, title="zebra food").pk)

    assert answer.context["preview"] is None
    assert "zebra" not in text(answer)


@pytest.mark.parametrize(("role", "status"), [("manager", 200), ("printer", 200), ("support", 403)])
def test_summary_is_for_those_who_make_batches(brand, role, status):
    assert summary(browser(staff(brand, role=role)), brand).status_code == status


def test_form_of_a_new_batch_asks_for_the_summary(client):
    shown = text(client.get(address("authcodes.batchrange", "add")))

    assert f'data-live="{address("authcodes.batchrange", "summary")}"' in shown
    assert "portal/live_panel" in shown


@pytest.mark.parametrize("many", [1, 40])
def test_summary_costs_the_same_however_many_batches_there_are(client, brand, django_assert_max_num_queries, many):
    for _ in range(many):
        factories.batch(brand)

    with django_assert_max_num_queries(26):  # most are the checks of a model form
        summary(client, brand)


def test_summary_of_a_plain_batch_warns_in_red_that_codes_can_be_guessed(client, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "k" * 32}

    plain, protected = summary(client, brand), summary(client, brand, signed="protected")

    assert "Anyone can guess the next code." in text(plain)
    assert "Anyone can guess the next code." not in text(protected)


def test_summary_of_a_plain_batch_suggests_confirmed_addresses_where_the_brand_asks_for_none(client, brand, settings):
    settings.CODE_TAG_SECRETS = {1: "k" * 32}
    advice = "Require confirmed e-mail addresses"
    plain, protected = summary(client, brand), summary(client, brand, signed="protected")
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    already_required = summary(client, brand)

    assert advice in text(plain)
    assert advice not in text(protected) + text(already_required)


@pytest.mark.parametrize(("role", "is_linked"), [("owner", True), ("manager", False)])
def test_the_suggestion_leads_those_who_may_change_it_to_the_setting(brand, role, is_linked):
    client = browser(staff(brand, role=role))
    link = f'href="/admin/brands/brand/{brand.pk}/change/#id_requires_confirmed_email"'

    page_text = text(summary(client, brand))

    assert (link in page_text) == is_linked
    assert ("An owner can change this" in page_text) != is_linked


@pytest.mark.parametrize(
    ("choice", "expected_text"),
    [("points", "scans earn their usual points"), ("nothing", "scans earn nothing"), ("", "their usual points")],
)
def test_summary_says_what_scans_earn_after_the_campaign(client, brand, choice, expected_text):
    campaign = factories.campaign(brand)

    answer = summary(client, brand, campaign=campaign.pk, after_campaign=choice)

    assert expected_text in text(answer)


def test_summary_without_levels_says_that_a_scan_earns_one_point(client, brand):
    BrandLevel.objects.filter(brand=brand).delete()
    warning = "A scan earns 1 point: this brand has no levels"

    before = text(summary(client, brand))
    factories.level(brand)

    assert warning in before
    assert warning not in text(summary(client, brand))
