"""The brand's own API: permissions, isolation of the brands, lists and their filters."""

import json
import uuid
from dataclasses import fields, replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from django.db import transaction
from django.db.models import Model, Sum
from django.utils import timezone

from authcodes.models.codes import AuthCode
from brands.identity import api_keys
from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey
from campaigns.segments import evaluate
from core.json_values import iso
from events import publishing
from events.messages import NewEvent
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.rewards import codes as redemption_codes
from tests.brands.access.conftest import hub, rows_of
from tests.support import factories
from tests.support.api import error
from tests.support.endpoints import BRAND, BRAND_LISTS, IN_PATHS
from tests.support.portal import staff

REQUIRED_SCOPES = {
    "create_product": "admin",
    "change_product": "admin",
    "create_reward": "admin",
    "change_reward": "admin",
    "recall_batch": "admin",
    "create_batch": "codes",
    "change_codes": "codes",
    "list_members": "members",
    "read_member": "members",
    "enrol_brand_member": "members",
    "change_member": "members",
    "adjust_points": "points",
    "merge_member": "points",
    "undo_merge": "points",
    **dict.fromkeys(["upload_import", "read_import", "download_import_errors", "confirm_import"], "admin"),
    "start_replay": "admin",
    "list_events": "events",
    "read_event": "events",
    "use_brand_redemption": "till",
}


@pytest.mark.parametrize("name", BRAND)
def test_hub_key_needs_the_scope_of_the_endpoint(scenario, name):
    ApiKey.objects.all().update(revoked_at=timezone.now())
    scope = REQUIRED_SCOPES.get(name, "read")
    hub_without_scope = hub(scenario, *(set(ApiKey.Scope.values) - {scope}))

    rejected = scenario.call(name, caller=hub_without_scope)
    allowed = scenario.call(name, caller=hub(scenario, scope))

    assert (error(rejected), rejected.json()["details"]) == ((403, "FORBIDDEN"), {"scope": scope})
    assert allowed.status_code in {200, 201, 202}


@pytest.mark.parametrize("name", BRAND)
def test_app_keys_customers_and_guests_are_rejected(scenario, name):
    _, text = api_keys.create(brand=scenario.brand, kind="app", name="x", at=timezone.now())
    app = replace(scenario.api, headers={"api-key": text})

    assert error(scenario.call(name, caller=app)) == (403, "FORBIDDEN")
    assert error(scenario.call(name, caller=scenario.customer_api)) == (403, "FORBIDDEN")
    assert error(scenario.call(name, caller=scenario.guest)) == (401, "AUTHENTICATION_REQUIRED")


FORBIDDEN = {
    "owner": set(),
    "manager": set(),
    "printer": {
        *["create_product", "change_product", "recall_batch", "list_scans", "list_members", "read_member"],
        *["merge_member", "undo_merge"],
        *["enrol_brand_member", "change_member", "adjust_points", "create_reward", "change_reward", "list_levels"],
        *["list_brand_rewards", "read_brand_reward", "list_brand_redemptions", "list_brand_transactions"],
        *["read_brand_scan", "read_level", "read_brand_redemption", "use_brand_redemption", "read_brand_transaction"],
        "read_programme",
        *[
            "list_earning_rules",
            "read_earning_rule",
            "list_events",
            "read_event",
            "list_event_kinds",
            "read_event_kind",
        ],
        *["list_segments", "read_segment"],
        *["list_replays", "start_replay", "read_replay"],
        *["create_batch"],  # it sets what scans of the batch earn
        *["upload_import", "read_import", "download_import_errors", "confirm_import"],
    },
    "support": {
        *["create_product", "change_product", "recall_batch", "create_batch", "change_codes", "enrol_brand_member"],
        *["merge_member", "undo_merge"],
        *["adjust_points", "create_reward", "change_reward", "change_member", "list_events", "read_event"],
        "start_replay",
        "read_programme",
        *["export_resource", "upload_import", "read_import", "download_import_errors", "confirm_import"],
    },
}


@pytest.mark.parametrize("role", FORBIDDEN)
def test_staff_have_the_permissions_of_their_role_in_the_portal(scenario, subtests, role):
    caller = scenario.api.as_customer(staff(scenario.brand, role=role))
    for name in BRAND:
        with subtests.test(name), transaction.atomic():
            answer = scenario.call(name, caller=caller)
            assert (answer.status_code == 403) == (name in FORBIDDEN[role]), answer.content
            transaction.set_rollback(True)


def test_printer_cannot_set_scan_values_and_support_cannot_block_members(scenario):
    printer = scenario.api.as_customer(staff(scenario.brand, role="printer"))
    support = scenario.api.as_customer(staff(scenario.brand, role="support"))
    batch = {"range_name": "Plain", "quantity": 2, "prefix": "PRINTED"}

    assert printer.post("brand/batches", batch).status_code == 202
    for value in ({"points_per_scan": 1}, {"scan_limit": None}, {"expiration_date": "2099-01-01"}):
        assert error(printer.post("brand/batches", {**batch, "range_name": "More", **value})) == (403, "FORBIDDEN")
    path, renamed = f"brand/members/{scenario.customer.pk}", {"first_name": "Ada", "reason": "x"}
    assert support.call("PATCH", path, data=json.dumps(renamed).encode()).status_code == 200
    blocked = json.dumps({"status": "blocked", "reason": "x"}).encode()
    assert error(support.call("PATCH", path, data=blocked)) == (403, "FORBIDDEN")


@pytest.mark.parametrize("name", BRAND)
def test_rows_of_another_brand_cannot_be_reached(scenario, name, monkeypatch):
    """Another brand's hub uses our rows' ids and gets the same answers as for rows that do not exist."""
    foreign = scenario.api.hub(brand=scenario.other_brand)
    before = rows_of(scenario)

    response = scenario.call(name, caller=foreign)

    if name in BRAND_LISTS:
        ours = scenario.call(name).json()["data"]
        assert [row for row in response.json()["data"] if row in ours] == []
    elif name in {"create_product", "create_reward", "upload_import"}:
        assert response.status_code == 201
    elif name == "read_programme":
        expected = UserPoints.objects.filter(brand=scenario.other_brand).aggregate(all=Sum("points"))["all"] or 0
        assert response.json()["data"]["outstanding"] == expected
    elif name == "export_resource":
        assert scenario.code.product.sku not in response.content.decode()
    else:
        answer_to_missing = with_missing_rows(scenario, monkeypatch).call(name, caller=foreign)
        assert response.status_code in {400, 404}
        assert without_request_id(response) == without_request_id(answer_to_missing)
    assert rows_of(scenario) == before


def with_missing_rows(scenario, monkeypatch):
    """The scenario with ids that no rows have."""
    rows = {each.name: getattr(scenario, each.name) for each in fields(scenario)}
    missing = {
        name: type(row)(pk=missing_id(row))
        for name, row in rows.items()
        if isinstance(row, Model) and name not in {"brand", "other"}
    }
    missing["code"] = AuthCode(code="NO-SUCH-CODE", batch_id=next(MISSING_IDS), product_id=next(MISSING_IDS))
    missing["redemption"].code = redemption_codes.new()
    for name in ("campaign", "line", "recalled", "upload"):  # of rows that belong to those
        monkeypatch.setitem(IN_PATHS, name, lambda _scenario, _caller: 2**40)
    return replace(scenario, **missing)


def missing_id(row):
    """Another one each time."""
    return uuid.uuid4() if isinstance(row.pk, uuid.UUID) else next(MISSING_IDS)


MISSING_IDS = count(2**40)


def without_request_id(response):
    return response.status_code, {name: part for name, part in response.json().items() if name != "request_id"}


@pytest.mark.parametrize("name", BRAND_LISTS)
def test_unknown_parameter_is_rejected_by_name(scenario, name):
    rejected = scenario.call(name, query="?productid=1")

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert rejected.json()["details"] == {"field": "productid"}


ID = "3c4f2a1e-9d7b-4f60-8a3e-2b1c0d9e8f7a"
TOO_MANY_IDS = ",".join(map(str, range(1, 102)))
FILTERS = {
    "list_products": [
        "sku=",
        "gtin=",
        "is_active=yes",
        "is_active=",
        "updated_since=2026-01-01",
        "sku=" + "x" * 65,
        "id=1,",
        "id=1,x",
        "id=%D9%A3",
        f"id={TOO_MANY_IDS}",
    ],
    "list_batches": ["product_id=x", "product_id=0", "product_id=%D9%A3", "product_id=9223372036854775808"],
    "list_codes": ["batch_id=-1", "product_id=1.0", "batch_id="],
    "list_scans": ["outcome=ok", "from=yesterday", "to=2026-13-01", "batch_id=x"],
    "list_members": [
        "email=",
        "status=gone",
        "updated_since=2026-01-01T00:00:00",
        "updated_since=x",
        "phone=%0A",
        "user_id=0",
        "segment=x",
        "segment=0",
    ],
    "list_brand_transactions": ["reason=x", "user_id=x", "from=2026-02-30"],
    "list_brand_redemptions": ["status=x", "user_id=0"],
    "list_jobs": ["status=x"],
    "list_brand_campaigns": ["type=x", "is_active=1"],
    "list_earning_rules": ["kind="],
    "list_replays": ["kind=x"],
    "list_event_kinds": ["is_active=1"],
    "list_events": ["status=x", "event_id=x", "event_id=", "kind=%00", "source=shop.customer-app", f"event_id={ID}"],
}


@pytest.mark.parametrize(("name", "query"), [(name, query) for name, queries in FILTERS.items() for query in queries])
def test_invalid_filter_value_is_rejected_by_name(scenario, name, query):
    rejected = scenario.call(name, query=f"?{query}")

    assert error(rejected) == (400, "VALIDATION_ERROR")
    assert rejected.json()["details"] == {"field": query.partition("=")[0]}


def test_filters_select_the_matching_rows(scenario):
    product = scenario.code.product
    code = factories.code(scenario.brand, scan_limit=None)
    scenario.customer_api.verify(scenario.code)

    def ids(path, **query):
        return [row.get("id") or row.get("code") or row["scan_id"] for row in rows(path, **query)]

    def rows(path, **query):
        return scenario.bare_hub.get(path, **query).json()["data"]

    assert ids("brand/products", sku=product.sku) == [product.pk]
    assert ids("brand/products", is_active="false") == []
    assert ids("brand/batches", product_id=product.pk) == [scenario.code.batch_id]
    assert ids("brand/codes", batch_id=code.batch_id) == [code.code]
    assert ids("brand/codes", product_id=product.pk) == [scenario.code.code]
    assert [row["code"] for row in rows("brand/scans", outcome="success", product_id=product.pk)] == [
        scenario.code.code
    ]
    assert rows("brand/scans", outcome="error") == []
    today = timezone.now().astimezone(scenario.brand.zone).date()
    assert len(rows("brand/scans", **{"from": today.isoformat(), "to": today.isoformat()})) == len(rows("brand/scans"))
    assert rows("brand/scans", **{"from": (today + timedelta(days=1)).isoformat()}) == []
    assert ids("brand/batches", is_recalled="true") == [scenario.recall.batches.get().pk]
    assert ids("brand/products", id=f"{product.pk},{2**40}") == [product.pk]
    assert [row["user_id"] for row in rows("brand/members", user_id=scenario.customer.pk)] == [scenario.customer.pk]
    assert rows("brand/members", user_id=scenario.other_customer.pk) == []


def test_recalled_batch_names_its_recall(scenario):
    scenario.call("recall_batch")

    [batch, _other] = scenario.bare_hub.get("brand/batches", is_recalled="true").json()["data"][::-1]
    [recall, _other] = scenario.bare_hub.get("brand/recalls").json()["data"]
    assert (
        (batch["id"], batch["recall_id"])
        == (recall["batch_id"], recall["recall_id"])
        == (scenario.code.batch_id, "R-1")
    )
    entry = AuditLogEntry.objects.get(kind="authcodes.recall")
    assert (entry.reason, entry.actor) == ("Glass", entry.api_key)


def test_events_show_the_outcome_of_what_a_hub_sent(scenario):
    outcome = {"error": "CUSTOMER_BLOCKED", "message": "No.", "details": {}}
    stored = scenario.event
    stored.pk, stored.event_id, stored.detail_type = None, uuid.uuid4(), "order-complete"
    stored.status, stored.outcome = "refused", outcome
    stored.save()
    publishing.publish(
        messages=[NewEvent(kind="announce", payload={}, arguments={}, has_consumer=False)],
        brand_id=scenario.brand.pk,
        at=timezone.now(),
    )

    def listed(**query):
        return [(row["kind"], row["status"], row["error"]) for row in read_as_hub("brand/events", **query)]

    def read_as_hub(path, **query):
        return scenario.bare_hub.get(path, **query).json()["data"]

    visit, order = ("shop-visit", "ignored", None), ("order-complete", "refused", "CUSTOMER_BLOCKED")
    assert listed() == [order, visit]  # without the service's own events
    assert listed(kind="shop-visit") == listed(status="ignored") == [visit]
    assert listed(status="dead") == listed(kind="announce") == []
    assert listed(event_id=str(stored.event_id), source="shop.customer-app") == [order]
    assert listed(event_id=str(stored.event_id), source="till.customer-app") == []
    event = read_as_hub(f"brand/events/{stored.pk}")
    assert (event["payload"], event["outcome"], event["user_id"]) == ({"floor": 2}, outcome, scenario.customer.pk)
    own = Event.objects.get(detail_type="announce")
    assert error(scenario.bare_hub.get(f"brand/events/{own.pk}")) == (404, "NOT_FOUND")


def test_every_brand_operation_is_covered_by_these_tests():
    described = json.loads((Path(__file__).parents[3] / "docs/openapi.json").read_text())["paths"]

    operations = {
        operation["operationId"]
        for verbs in described.values()
        for operation in verbs.values()
        if isinstance(operation, dict) and "Brand" in operation.get("tags", ())
    }

    assert operations == set(BRAND)


def test_segment_has_its_member_count_and_evaluation_time(scenario):
    at = timezone.now()
    segment = factories.segment(scenario.brand, ("balance", "at_least", 10**6), name="Rich")
    rich = factories.customer(scenario.brand)
    factories.points(rich, scenario.brand, 10**6)
    assert scenario.bare_hub.get(f"brand/segments/{segment.pk}").json()["data"]["members"] is None

    evaluate.evaluate(segment.pk, at=at)

    data = scenario.bare_hub.get(f"brand/segments/{segment.pk}").json()["data"]
    assert (data["name"], data["members"], data["evaluated_at"]) == ("Rich", 1, iso(at))
    listed = scenario.bare_hub.get("brand/members", segment=segment.pk).json()["data"]
    assert [row["user_id"] for row in listed] == [rich.pk]
    assert scenario.bare_hub.get("brand/members", segment=2**40).json()["data"] == []
    other_hub = scenario.api.hub(brand=scenario.other_brand)
    assert other_hub.get("brand/members", segment=segment.pk).json()["data"] == []
