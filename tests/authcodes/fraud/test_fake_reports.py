"""Reports of suspected fakes by guests and customers: rate limits, brands, staff actions, erasure and retention."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from authcodes.fraud import fake_reports
from authcodes.models.codes import AuthCode
from authcodes.models.fake_reports import FakeReport
from authcodes.personal_data import FAKE_REPORTS
from brands.audit_log import AuditContext
from brands.identity import tokens
from brands.models.audit import AuditLogEntry
from loyalty.members import erasure
from loyalty.points import accounts
from tests.support import factories
from tests.support.api import error, random_address
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db
REPORT_FIELDS = {"place": "Market stall", "remark": "Blurred print", "contact": "ada@example.com"}


@pytest.fixture
def code(brand):
    return factories.code(brand)


def report(api, code, **fields):
    return api.post("fake-reports", {"code": str(code), **REPORT_FIELDS, **fields})


def create_report(brand, **fields):
    return FakeReport.objects.create(**{"brand": brand, "code": "x-1", "place": "A stall", **fields})


def test_guest_can_report_with_the_brands_app_key(api, brand, code):
    answer = report(api.app(), code)

    stored = FakeReport.objects.get()
    assert (answer.status_code, answer.json()["report_id"]) == (201, stored.pk)
    assert (stored.brand, stored.auth_code, stored.code, stored.user, stored.state) == (
        brand,
        code,
        code.code,
        None,
        "open",
    )
    assert {name: getattr(stored, name) for name in REPORT_FIELDS} == REPORT_FIELDS


def test_report_of_a_code_printed_elsewhere_finds_it_by_its_payload(api, brand, code):
    payload = "https://old.example/p/K7F3"
    AuthCode.objects.filter(pk=code.pk).update(payload=payload)

    report(api.app(), payload)
    report(api.app(brand=factories.brand()), payload)

    own, foreign = FakeReport.objects.order_by("pk")
    assert (own.auth_code, own.code) == (code, code.code)
    assert (foreign.auth_code, foreign.code) == (None, payload)


def test_report_with_a_token_belongs_to_its_customer(api, brand, customer, code):
    report(api.as_customer(customer), code)

    assert FakeReport.objects.get().user == customer


def test_report_with_a_revoked_token_is_rejected(api, brand, customer, code):
    pair = tokens.issue(user=customer, brand=brand, at=timezone.now())
    tokens.revoke(refresh=pair.refresh, at=timezone.now())

    answer = report(api.with_headers(authorization=f"Bearer {pair.access}"), code)

    assert error(answer) == (401, "TOKEN_INVALID")
    assert not FakeReport.objects.exists()


def test_report_with_the_token_of_an_erased_customer_is_rejected(api, brand, customer, code):
    customer_api = api.as_customer(customer)
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    assert error(report(customer_api, code)) == (401, "TOKEN_INVALID")
    assert not FakeReport.objects.exists()


def test_all_codes_get_the_same_answer(api, brand, code):
    other = factories.code(factories.brand())

    answers = [report(api.app(), reported_code) for reported_code in (code, other, "no-such-code", "§$%")]

    assert [(answer.status_code, sorted(answer.json())) for answer in answers] == [(201, ["report_id", "success"])] * 4
    assert [stored.auth_code for stored in FakeReport.objects.order_by("pk")] == [code, None, None, None]
    assert set(FakeReport.objects.values_list("brand", flat=True)) == {brand.pk}


def test_report_without_a_brand_is_rejected(api, code):
    assert error(report(api.guest(), code)) == (401, "AUTHENTICATION_REQUIRED")
    assert not FakeReport.objects.exists()


def test_reports_of_customers_are_limited_per_network(api, brand, code, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "fake_report": "2/hour"}
    customers = [factories.customer(brand) for _ in range(3)]

    assert [report(api.as_customer(user), code).status_code for user in customers] == [201, 201, 429]
    assert FakeReport.objects.count() == 2


def test_reports_of_guests_are_limited_per_network(api, code, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "fake_report": "2/hour"}

    assert [report(api.app(), code).status_code for _ in range(3)] == [201, 201, 429]


def test_reports_of_a_customer_are_limited_across_networks(api, customer, code, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "fake_report": "2/hour"}
    callers = [replace(api.as_customer(customer), address=random_address()) for _ in range(3)]

    assert [report(caller, code).status_code for caller in callers] == [201, 201, 429]


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_staff_can_close_and_reopen_reports_and_both_are_logged(brand, role):
    row, user = create_report(brand, remark="Wrong smell"), staff(brand, role=role)
    client = browser(user)
    list_url = address("authcodes.fakereport")
    assert "A stall" in text(client.get(list_url))
    assert "Wrong smell" in text(client.get(address("authcodes.fakereport", "change", row.pk)))

    client.post(list_url, {"action": "close", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert (row.state, row.closed_by) == ("closed", user)

    client.post(list_url, {"action": "reopen", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert (row.state, row.closed_by, row.closed_at) == ("open", None, None)
    logged = AuditLogEntry.objects.filter(kind="authcodes.fakereport").order_by("pk")
    assert [(each.action, each.row_id, each.user, each.brand) for each in logged] == [
        ("Closed", str(row.pk), user, brand),
        ("Reopened", str(row.pk), user, brand),
    ]


def test_printers_and_staff_of_other_brands_cannot_see_or_close_reports(brand):
    row = create_report(brand)

    assert browser(staff(brand, role="printer")).get(address("authcodes.fakereport")).status_code == 403
    other_client = browser(staff(factories.brand()))
    assert "A stall" not in text(other_client.get(address("authcodes.fakereport")))
    other_client.post(address("authcodes.fakereport"), {"action": "close", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.state == "open"


def test_customer_of_another_brand_is_not_named(brand):
    other_customer = factories.customer(factories.brand(), email="stranger@example.com")
    row = create_report(brand, user=other_customer)

    assert "stranger@" not in text(browser(staff(brand)).get(address("authcodes.fakereport", "change", row.pk)))


def test_home_counts_open_reports(brand):
    create_report(brand)
    create_report(brand, state="closed", closed_at=timezone.now())
    create_report(factories.brand())

    home = browser(staff(brand)).get(reverse("admin:index"))

    [alert] = home.context["home"].alerts
    assert alert.text == "1 customer reports a suspected fake."
    listed = browser(staff(brand)).get(alert.link)
    assert [row.state for row in listed.context["cl"].result_list] == ["open"]


def test_reports_of_a_customer_are_exported_and_erased_with_their_data(brand, customer):
    other = factories.brand()
    accounts.enrol(user_id=customer.pk, brand_id=other.pk, at=timezone.now())
    create_report(brand, user=customer, contact="ada@example.com")
    other_brands_report, guest_report = create_report(other, user=customer), create_report(brand)
    assert [row["contact"] for row in FAKE_REPORTS.export(customer.pk, brand.pk)] == ["ada@example.com"]

    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    assert set(FakeReport.objects.all()) == {other_brands_report, guest_report}


def test_reports_are_purged_after_the_retention(brand, settings):
    create_report(brand, reported_at=timezone.now() - timedelta(days=731))
    new = create_report(brand)
    settings.FAKE_REPORT_DAYS = 0
    assert fake_reports.purge(at=timezone.now()) == 0
    settings.FAKE_REPORT_DAYS = 730

    assert fake_reports.purge(at=timezone.now()) == 1
    assert list(FakeReport.objects.all()) == [new]
