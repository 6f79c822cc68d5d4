"""Reports of suspected fakes: by anybody, bounded, of one brand, closed by staff, and gone with the person."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from authcodes.fraud import fake_reports
from authcodes.models.fake_reports import FakeReport
from authcodes.personal_data import FAKE_REPORTS
from brands.audit_log import AuditContext
from brands.identity import tokens
from brands.models.audit import AuditLogEntry
from loyalty.members import erasure
from loyalty.points import accounts
from tests.support import factories
from tests.support.api import error, somewhere
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db
REPORT_FIELDS = {"place": "Market stall", "remark": "Blurred print", "contact": "ada@example.com"}


@pytest.fixture
def code(brand):
    return factories.code(brand)


def report(api, code, **fields):
    return api.post("fake-reports", {"code": str(code), **REPORT_FIELDS, **fields})


def made(brand, **fields):
    return FakeReport.objects.create(**{"brand": brand, "code": "x-1", "place": "A stall", **fields})


def test_a_guest_reports_through_the_brands_app(api, brand, code):
    answer = report(api.app(), code)

    kept = FakeReport.objects.get()
    assert (answer.status_code, answer.json()["report_id"]) == (201, kept.pk)
    assert (kept.brand, kept.auth_code, kept.code, kept.user, kept.state) == (brand, code, code.code, None, "open")
    assert {name: getattr(kept, name) for name in REPORT_FIELDS} == REPORT_FIELDS


def test_a_customer_reports_with_their_token(api, brand, customer, code):
    report(api.as_customer(customer), code)

    assert FakeReport.objects.get().user == customer


def test_nobody_reports_with_a_token_that_has_ended(api, brand, customer, code):
    pair = tokens.issue(user=customer, brand=brand, at=timezone.now())
    tokens.revoke(refresh=pair.refresh, at=timezone.now())

    answer = report(api.having(authorization=f"Bearer {pair.access}"), code)

    assert error(answer) == (401, "TOKEN_INVALID")
    assert not FakeReport.objects.exists()


def test_who_was_erased_reports_nothing_with_an_old_token(api, brand, customer, code):
    customer_api = api.as_customer(customer)
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    assert error(report(customer_api, code)) == (401, "TOKEN_INVALID")
    assert not FakeReport.objects.exists()


def test_the_answer_is_the_same_for_every_code(api, brand, code):
    other = factories.code(factories.brand())

    answers = [report(api.app(), each) for each in (code, other, "no-such-code", "§$%")]

    assert [(answer.status_code, sorted(answer.json())) for answer in answers] == [(201, ["report_id", "success"])] * 4
    assert [kept.auth_code for kept in FakeReport.objects.order_by("pk")] == [code, None, None, None]
    assert set(FakeReport.objects.values_list("brand", flat=True)) == {brand.pk}


def test_nobody_reports_to_no_brand(api, code):
    assert error(report(api.guest(), code)) == (401, "AUTHENTICATION_REQUIRED")
    assert not FakeReport.objects.exists()


def test_a_network_reports_so_often(api, brand, code, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "fake_report": "2/hour"}
    people = [factories.customer(brand) for _ in range(3)]

    assert [report(api.as_customer(user), code).status_code for user in people] == [201, 201, 429]
    assert FakeReport.objects.count() == 2


def test_a_guests_network_reports_so_often(api, code, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "fake_report": "2/hour"}

    assert [report(api.app(), code).status_code for _ in range(3)] == [201, 201, 429]


def test_a_customer_reports_so_often_from_wherever(api, customer, code, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "fake_report": "2/hour"}
    callers = [replace(api.as_customer(customer), address=somewhere()) for _ in range(3)]

    assert [report(each, code).status_code for each in callers] == [201, 201, 429]


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_staff_close_and_open_reports_with_an_entry_in_the_trail(brand, role):
    row, person = made(brand, remark="Wrong smell"), staff(brand, role=role)
    client = browser(person)
    listed = address("authcodes.fakereport")
    assert "A stall" in text(client.get(listed))
    assert "Wrong smell" in text(client.get(address("authcodes.fakereport", "change", row.pk)))

    client.post(listed, {"action": "close", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert (row.state, row.closed_by) == ("closed", person)
    assert AuditLogEntry.objects.filter(kind="authcodes.fakereport", action="Closed", brand=brand).count() == 1

    client.post(listed, {"action": "reopen", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert (row.state, row.closed_by, row.closed_at) == ("open", None, None)


def test_printers_and_other_brands_see_no_report(brand):
    row = made(brand)

    assert browser(staff(brand, role="printer")).get(address("authcodes.fakereport")).status_code == 403
    stranger = browser(staff(factories.brand()))
    assert "A stall" not in text(stranger.get(address("authcodes.fakereport")))
    stranger.post(address("authcodes.fakereport"), {"action": "close", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.state == "open"


def test_another_brands_customer_is_not_named(brand):
    stranger = factories.customer(factories.brand(), email="stranger@example.com")
    row = made(brand, user=stranger)

    assert "stranger@" not in text(browser(staff(brand)).get(address("authcodes.fakereport", "change", row.pk)))


def test_the_front_page_counts_open_reports(brand):
    made(brand)
    made(brand, state="closed", closed_at=timezone.now())
    made(factories.brand())

    shown = browser(staff(brand)).get(reverse("admin:index"))

    [alert] = shown.context["home"].alerts
    assert alert.text == "1 customer reports a suspected fake."
    listed = browser(staff(brand)).get(alert.link)
    assert [row.state for row in listed.context["cl"].result_list] == ["open"]


def test_a_persons_reports_are_handed_out_and_erased_with_them(brand, customer):
    other = factories.brand()
    accounts.enrol(user_id=customer.pk, brand_id=other.pk, at=timezone.now())
    made(brand, user=customer, contact="ada@example.com")
    elsewhere, guest = made(other, user=customer), made(brand)
    assert [row["contact"] for row in FAKE_REPORTS.export(customer.pk, brand.pk)] == ["ada@example.com"]

    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    assert set(FakeReport.objects.all()) == {elsewhere, guest}


def test_reports_are_deleted_in_time(brand, settings):
    made(brand, reported_at=timezone.now() - timedelta(days=731))
    new = made(brand)
    settings.FAKE_REPORT_DAYS = 0
    assert fake_reports.purge(at=timezone.now()) == 0
    settings.FAKE_REPORT_DAYS = 730

    assert fake_reports.purge(at=timezone.now()) == 1
    assert list(FakeReport.objects.all()) == [new]
