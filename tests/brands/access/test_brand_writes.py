"""The brand's own API: writes happen once, are audited with the API key, and appear in feeds and ETags."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.models.products import Product
from brands.access import idempotent_requests
from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey
from brands.models.tenants import Brand
from loyalty.members import numbers
from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import NotificationPreference
from tests.brands.access.conftest import rows_of
from tests.support import factories
from tests.support.api import error
from tests.support.endpoints import BRAND_WRITES, ENDPOINTS
from tests.support.portal import staff


def test_redemption_code_is_used_once_and_audited_with_the_key(scenario):
    assert scenario.call("use_brand_redemption", idempotency_key="a").json()["data"]["status"] == "used"
    assert scenario.call("use_brand_redemption", idempotency_key="a").status_code == 200
    assert error(scenario.call("use_brand_redemption")) == (409, "REDEMPTION_USED")
    [entry] = AuditLogEntry.objects.filter(kind="loyalty.redemption")
    assert (entry.action, entry.actor) == ("Used at the till", ApiKey.objects.get(brand=scenario.brand, kind="hub"))


# --- Members ---------------------------------------------------------------------------------------------------------


def test_member_is_found_by_email_phone_external_id_or_barcode(scenario):
    member = UserPoints.objects.get(user=scenario.customer, brand=scenario.brand)
    UserPoints.objects.filter(pk=member.pk).update(external_id="CRM-7")
    NotificationPreference.objects.create(brand=scenario.brand, user=scenario.customer, phone="+41791234567")
    factories.points(factories.customer(scenario.brand), scenario.brand, 1)
    filters = {
        "email": scenario.customer.email.upper(),
        "phone": "+41791234567",
        "external_id": "CRM-7",
        "barcode": numbers.barcode(member.pk),
    }

    for name, value in filters.items():
        [row] = scenario.bare_hub.get("brand/members", **{name: value}).json()["data"]
        assert (row["user_id"], row["phone"]) == (scenario.customer.pk, "+41791234567"), name
        assert scenario.bare_hub.get("brand/members", **{name: f"{value}0"}).json()["data"] == [], name
        other_hub = scenario.api.hub(brand=scenario.other_brand)
        assert other_hub.get("brand/members", **{name: value}).json()["data"] == [], name


def test_member_feed_lists_the_changes_since_a_moment(scenario):
    newer = factories.customer(scenario.brand)
    factories.points(newer, scenario.brand, 1)
    moment = timezone.now() + timedelta(seconds=1)
    UserPoints.objects.filter(user=newer).update(updated_at=moment)

    changed = scenario.bare_hub.get("brand/members", updated_since=moment.isoformat()).json()["data"]

    assert [row["user_id"] for row in changed] == [newer.pk]


def test_product_feed_lists_every_change(scenario):
    since = timezone.now().isoformat()
    assert scenario.bare_hub.get("brand/products", updated_since=since).json()["data"] == []

    Product.objects.filter(pk=scenario.code.product_id).update(title="Other")

    [changed] = scenario.bare_hub.get("brand/products", updated_since=since).json()["data"]
    assert changed["title"] == "Other"


def test_change_of_a_member_is_audited_with_the_key(scenario):
    answer = scenario.call("change_member", body={"status": "blocked", "external_id": "CRM-9", "reason": "Ticket 9"})

    assert {answer.json()["data"][name] for name in ("status", "external_id")} == {"blocked", "CRM-9"}
    entries = AuditLogEntry.objects.filter(kind="loyalty.userpoints", reason="Ticket 9").order_by("id")
    key = ApiKey.objects.get(brand=scenario.brand, kind="hub")
    assert [(it.action, it.reason, it.actor) for it in entries] == [
        ("External id changed", "Ticket 9", key),
        ("Blocked", "Ticket 9", key),
    ]


def test_external_id_of_another_member_is_rejected(scenario):
    other = factories.customer(scenario.brand)
    factories.points(other, scenario.brand, 1)
    UserPoints.objects.filter(user=other).update(external_id="CRM-1")

    rejected = scenario.call("change_member")

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert rejected.json()["details"] == {"field": "external_id"}


def test_points_are_adjusted_once_and_only_within_the_limits(scenario):
    balance = UserPoints.objects.get(user=scenario.customer).points

    first = scenario.call("adjust_points", idempotency_key="a")
    again = scenario.call("adjust_points", idempotency_key="a")

    assert (first.json(), first.status_code) == (again.json(), again.status_code)
    assert UserPoints.objects.get(user=scenario.customer).points == balance + 5
    ceiling = 100 * scenario.brand.max_points_per_scan
    assert error(scenario.call("adjust_points", body={"points": ceiling, "reason": "x"})) == (400, "VALIDATION_ERROR")
    too_few = {"points": -(10**7), "reason": "x"}
    assert error(scenario.call("adjust_points", body=too_few)) == (400, "VALIDATION_ERROR")


def test_product_points_above_the_maximum_are_rejected_unless_unchanged(scenario):
    maximum = scenario.brand.max_points_per_scan

    rejected = scenario.call("change_product", body={"points_per_scan": maximum + 1})

    assert (error(rejected), rejected.json()["details"]) == ((400, "VALIDATION_ERROR"), {"field": "points_per_scan"})
    Product.objects.filter(pk=scenario.code.product_id).update(redeem_point_value=maximum)
    Brand.objects.filter(pk=scenario.brand.pk).update(max_points_per_scan=maximum - 1)
    unchanged = {"title": "As approved", "points_per_scan": maximum}
    assert scenario.call("change_product", body=unchanged).status_code == 200


def test_duplicate_sku_is_rejected(scenario):
    rejected = scenario.call("create_product", body={"sku": scenario.code.product.sku, "title": "Again"})

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert Product.objects.filter(brand=scenario.brand, title="Again").count() == 0


# --- ETags -----------------------------------------------------------------------------------------------------------


def test_unchanged_product_is_answered_with_304(scenario):
    first = scenario.call("read_product")
    known = {"if_none_match": first["ETag"]}

    assert scenario.call("read_product", **known).status_code == 304
    scenario.call("change_product", body={"title": "Changed"})
    assert scenario.call("read_product", **known).status_code == 200


# --- Writes that happen once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BRAND_WRITES)
def test_repeated_request_has_the_same_answer_and_changes_nothing(scenario, name):
    body = ENDPOINTS[name].body(scenario)
    first = scenario.call(name, body=body, idempotency_key="once")
    before, audited = rows_of(scenario), AuditLogEntry.objects.count()

    again = scenario.call(name, body=body, idempotency_key="once")

    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert (rows_of(scenario), AuditLogEntry.objects.count()) == (before, audited)


@pytest.mark.parametrize("name", BRAND_WRITES)
def test_idempotency_key_of_another_request_is_rejected(scenario, name):
    scenario.call("create_product", idempotency_key="taken")

    other = scenario.call(name, body={**ENDPOINTS[name].body(scenario), "reason": "Other"}, idempotency_key="taken")

    assert error(other) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_rejected_request_does_not_use_up_its_idempotency_key(scenario):
    assert scenario.call("create_product", body={"sku": "A"}, idempotency_key="k").status_code == 400
    assert scenario.call("create_product", idempotency_key="k").status_code == 201


def test_idempotency_keys_of_different_callers_are_independent(scenario):
    scenario.call("create_product", idempotency_key="same")
    owner = scenario.api.as_customer(staff(scenario.brand, role="owner"))
    other_hub = scenario.api.hub(brand=scenario.other_brand)

    for caller in (owner, other_hub):
        created = scenario.call(
            "create_product", body={"sku": "B", "title": "B"}, idempotency_key="same", caller=caller
        )
        assert created.status_code == 201


def test_stored_answers_are_purged_after_a_day(scenario):
    scenario.call("create_product", idempotency_key="old")
    now = timezone.now()

    assert idempotent_requests.purge_old(at=now + timedelta(hours=23)) == 0
    assert idempotent_requests.purge_old(at=now + timedelta(hours=25)) == 1
