"""Manual enrolment at a brand that does not enrol automatically: in the portal, from a file and by the hub."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey
from loyalty.members import enrolment
from loyalty.models.accounts import UserPoints
from tests.support import factories
from tests.support.api import error
from tests.support.concurrency import run_concurrently
from tests.support.portal import browser, staff, text

ENROL = "admin:loyalty_userpoints_enrol"


@pytest.fixture(autouse=True)
def manual_enrolment(brand):
    type(brand).objects.filter(pk=brand.pk).update(auto_enroll=False)


@pytest.fixture
def newcomer(brand):
    return factories.customer(brand, enrolled=False, email="new@example.com")


def enrol(client, brand, **fields):
    return client.post(reverse(ENROL), {"brand": brand.pk, **fields}, follow=True)


def csv_file(content):
    return SimpleUploadedFile("members.csv", content if isinstance(content, bytes) else content.encode(), "text/csv")


def test_customer_enrolled_by_staff_earns_points(api, brand, newcomer, deliver_events):
    answer = enrol(browser(staff(brand, role="manager")), brand, addresses=" New@Example.com \n")

    assert "Enrolled: 1. Already members: 0." in text(answer)
    api.as_customer(newcomer).verify(factories.code(brand))
    deliver_events()
    assert UserPoints.objects.get(user=newcomer).points == 10
    assert AuditLogEntry.objects.get(kind="loyalty.userpoints").action == "Enrolled"


def test_reason_of_an_enrolment_is_stored_in_english(brand, newcomer):
    enrol(browser(staff(brand, portal_language="de")), brand, addresses=newcomer.email)

    assert AuditLogEntry.objects.get(kind="loyalty.userpoints").reason == "Enrolled manually"


def test_enrolling_again_changes_nothing_and_adds_no_audit_log_entry(brand, newcomer):
    client = browser(staff(brand))
    enrol(client, brand, addresses=newcomer.email)
    before = UserPoints.objects.get()

    assert "Enrolled: 0. Already members: 1." in text(enrol(client, brand, addresses=newcomer.email))
    after = UserPoints.objects.get()
    assert (after.pk, after.enrolled_at) == (before.pk, before.enrolled_at)
    assert AuditLogEntry.objects.filter(kind="loyalty.userpoints").count() == 1


def test_enrolment_does_not_reveal_addresses_known_to_other_brands(brand):
    foreign_customer = factories.customer(factories.brand())
    client = browser(staff(brand))

    answers = [
        text(enrol(client, brand, addresses=address)) for address in (foreign_customer.email, "nobody@example.com")
    ]

    for answer, address in zip(answers, (foreign_customer.email, "nobody@example.com"), strict=True):
        assert f"Not registered with this brand: 1 ({address})" in answer
    assert not UserPoints.objects.filter(brand=brand).exists()


def test_file_enrols_customers_and_lists_unknown_addresses(brand, newcomer):
    factories.customer(brand, email="old@example.com")
    rows = "name,email\nNew,new@example.com\nOld,old@example.com\nNobody,nobody@example.com\n"

    answer = text(enrol(browser(staff(brand)), brand, file=csv_file(rows)))

    assert "Enrolled: 1. Already members: 1." in answer
    assert "1 (nobody@example.com)" in answer


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Enter an address or choose a file."),
        ({"file": b"\xff\xfe\x00"}, "This is not a CSV file in UTF-8."),
        ({"file": b"address\na@example.com\n"}, "The file needs a column named email, and a row below it."),
        ({"file": b"email\n"}, "The file needs a column named email, and a row below it."),
        ({"file": b"email\n\x00@example.com\n"}, "The file needs a column named email, and a row below it."),
        ({"file": b"email\n" + b"a" * 200_001}, "The file is too large."),
        ({"addresses": "\n".join(f"{number}@example.com" for number in range(1001))}, "Enrol at most 1000 customers"),
    ],
)
def test_invalid_enrolment_input_is_rejected_with_a_message(brand, fields, message):
    if "file" in fields:
        fields = {"file": csv_file(fields["file"])}

    answer = enrol(browser(staff(brand)), brand, **fields)

    assert answer.status_code == 200
    assert message in text(answer)
    assert not UserPoints.objects.exists()


def test_support_and_staff_of_another_brand_cannot_enrol_customers(brand, newcomer):
    foreign_staff = staff(factories.brand())

    assert browser(staff(brand, role="support")).get(reverse(ENROL)).status_code == 403
    assert "Select a valid choice" in text(enrol(browser(foreign_staff), brand, addresses=newcomer.email))
    assert not UserPoints.objects.exists()


def test_hub_enrols_by_id_or_address_only_once(api, brand, newcomer):
    hub = api.hub()

    first = hub.post("members", {"user_id": newcomer.pk})
    again = hub.post("members", {"email": "NEW@example.com"})

    account = UserPoints.objects.get()
    assert (first.status_code, first.json()["data"]["created"]) == (201, True)
    assert (again.status_code, again.json()["data"]["created"]) == (200, False)
    assert first.json()["data"]["user_point_id"] == again.json()["data"]["user_point_id"] == account.pk
    entry = AuditLogEntry.objects.get(kind="loyalty.userpoints")
    assert (entry.action, entry.user, entry.actor) == ("Enrolled", None, ApiKey.objects.get(kind="hub"))


def test_hub_enrolment_rejects_customers_of_other_brands_and_invalid_bodies(api, brand, newcomer):
    foreign_customer = factories.customer(factories.brand())
    hub = api.hub()

    for body in (
        {"user_id": foreign_customer.pk},
        {"email": foreign_customer.email},
        {"user_id": 10**15},
        {"email": "no@example.com"},
    ):
        assert error(hub.post("members", body)) == (404, "USER_NOT_FOUND")
    for body in ({}, {"user_id": newcomer.pk, "email": newcomer.email}, {"user_id": "1"}, {"email": 5}):
        assert error(hub.post("members", body)) == (400, "VALIDATION_ERROR")
    assert error(api.app().post("members", {"user_id": newcomer.pk})) == (403, "FORBIDDEN")


def test_hub_cannot_enrol_an_inactive_user(api, brand, newcomer):
    type(newcomer).objects.update(is_active=False)

    assert error(api.hub().post("members", {"user_id": newcomer.pk})) == (404, "USER_NOT_FOUND")


@pytest.mark.django_db(transaction=True)
def test_concurrent_enrolments_create_one_member_and_one_audit_log_entry(brand, newcomer):
    def enrol_newcomer(_number):
        audit_context = AuditContext(None, timezone.now(), "", "at once")
        return enrolment.enrol_one(brand=brand, audit_context=audit_context, user_id=newcomer.pk)[1]

    assert sorted(run_concurrently(enrol_newcomer, range(24))) == [False] * 23 + [True]
    assert UserPoints.objects.count() == AuditLogEntry.objects.filter(kind="loyalty.userpoints").count() == 1
