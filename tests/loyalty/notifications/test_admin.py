"""The portal's pages about notifications: settings, the log, suppressed addresses."""

import html
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from loyalty.members import masking
from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.models.notifications import (
    NotificationDelivery,
    NotificationSettings,
)
from loyalty.notifications import suppression
from tests.support import factories
from tests.support.fakes import slow_keys
from tests.support.fakes.fake_providers import SID, SMS_KEY, Push
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db(transaction=True)
HUGE_KEY = slow_keys.plain(slow_keys.rsa_key(2_203, 2_281)).decode()
HUGE_ACCOUNT = json.dumps({**json.loads(Push().service_account), "private_key": HUGE_KEY})


@pytest.fixture
def client(owner):
    return browser(owner)


def settings_page(own):
    return address("loyalty.notificationsettings", "change", own.pk)


# --- Settings --------------------------------------------------------------------------------------------------------


def test_secrets_are_stored_encrypted_and_never_displayed_again(client, brand, own):
    account = Push().service_account
    form_data = {**form_of(client.get(settings_page(own))), "sms_on": "on", "push_on": "on"}
    form_data |= {"twilio_account_sid": SID, "twilio_auth_token": SMS_KEY, "sms_sender": "Acme"}

    saved = client.post(settings_page(own), {**form_data, "fcm_service_account": account})

    assert saved.status_code == 302, errors(saved)
    stored = NotificationSettings.objects.get()
    assert (stored.twilio_auth_token, stored.fcm_service_account) == (SMS_KEY, account)
    with connection.cursor() as cursor:
        cursor.execute("SELECT twilio_auth_token, fcm_service_account FROM loyalty_notificationsettings")
        assert not {SMS_KEY, account} & set(cursor.fetchone())
    for url in (settings_page(own), address("loyalty.notificationsettings", "history", own.pk)):
        page = html.unescape(text(client.get(url)))
        assert SMS_KEY not in page
        assert "BEGIN PRIVATE KEY" not in page
    assert SMS_KEY not in str(AuditLogEntry.objects.values_list("changes", flat=True))


def test_sender_name_other_than_the_brands_is_rejected(client, brand, own):
    form_data = form_of(client.get(settings_page(own)))

    response = client.post(settings_page(own), {**form_data, "sender_name": "Northwind Coffee"})

    assert list(errors(response)) == ["sender_name"]


def test_empty_secret_keeps_the_stored_one(client, brand, with_sms, own):
    form_data = form_of(client.get(settings_page(own)))

    client.post(settings_page(own), {**form_data, "sender_name": f"{brand.name} again"})

    stored = NotificationSettings.objects.get()
    assert (stored.sender_name, stored.twilio_auth_token) == (f"{brand.name} again", SMS_KEY)


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        ({"sms_on": "on"}, {"twilio_account_sid", "twilio_auth_token", "sms_sender"}),
        ({"push_on": "on"}, {"fcm_service_account"}),
        ({"fcm_service_account": "{}"}, {"fcm_service_account"}),
        ({"fcm_service_account": "[" * 5000}, {"fcm_service_account"}),
        ({"fcm_service_account": '{"project_id": 1}'}, {"fcm_service_account"}),
        ({"fcm_service_account": HUGE_ACCOUNT}, {"fcm_service_account"}),
        ({"twilio_account_sid": "AC../../x"}, {"twilio_account_sid"}),
        ({"sms_sender": "much too long a name"}, {"sms_sender"}),
        ({"sender_address": "a\nb@example.com"}, {"sender_address"}),
        ({"merge_seconds": 3601}, {"merge_seconds"}),
        ({"language": "tlh"}, {"language"}),
    ],
)
def test_invalid_settings_are_rejected(client, own, wrong, fields):
    response = client.post(settings_page(own), {**form_of(client.get(settings_page(own))), **wrong})

    assert set(errors(response)) == fields


def test_support_cannot_see_settings(brand, with_sms, own):
    answer = browser(staff(brand, role="support")).get(settings_page(own))

    assert answer.status_code == 404
    assert SMS_KEY not in text(answer)


# --- The log ---------------------------------------------------------------------------------------------------------


def test_log_shows_the_outcome_of_a_notification(client, brand, customer, own, box, notify, work):
    box.rejections[customer.email] = "550 no such user"
    notify(customer, points_earned=7)
    work()
    row = NotificationDelivery.objects.get()

    list_page = text(client.get(address("loyalty.notificationdelivery"), {"q": customer.email}))
    detail_page = text(client.get(address("loyalty.notificationdelivery", "change", row.pk)))

    assert "Bounced" in list_page
    assert "SMTP 550 no such user" in detail_page
    assert ": 7" in detail_page
    assert str(row.event_id) in detail_page


def test_log_needs_a_constant_number_of_queries(client, brand, customer, own, box, notify, work):
    def count_queries():
        with CaptureQueriesContext(connection) as captured:
            client.get(address("loyalty.notificationdelivery"))
        return len(captured)

    notify(customer)
    work()
    expected = count_queries()
    for _ in range(20):
        notify(factories.customer(brand))
    work()

    assert count_queries() == expected


def test_member_page_shows_preferences_and_sent_notifications(client, brand, customer, own, box, notify, work):
    notify(customer)
    work()
    member = factories.account(customer, brand)

    member_page = text(client.get(address("loyalty.userpoints", "change", member.pk)))

    assert "Points and levels" in member_page
    assert f'E-mail, <bdi dir="ltr">{customer.email}</bdi>' in member_page


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_staff_who_see_members_read_full_addresses_in_the_log(brand, customer, own, notify, work, role):
    notify(customer)
    work()
    reader, row = browser(staff(brand, role=role)), NotificationDelivery.objects.get(user=customer)

    pages = [address("loyalty.notificationdelivery"), address("loyalty.notificationdelivery", "change", row.pk)]
    page_texts = [text(reader.get(each)) for each in pages]

    assert [row.masked_address in each for each in page_texts] == [False, False]
    assert [each.count(customer.email) > 1 for each in page_texts] == [True, True]


def test_former_address_stays_masked(client, brand, customer, own, notify, work):
    notify(customer)
    work()
    row = NotificationDelivery.objects.get(user=customer)
    customer.email = "another@example.org"
    customer.save()

    assert row.masked_address in text(client.get(address("loyalty.notificationdelivery")))


def test_masking_depends_on_the_role_only(brand, customer):
    readers = {role: staff(brand, role=role) for role in ("owner", "support", "printer")}

    member = factories.account(customer, brand)

    assert {role: masking.displayed_to(reader, member) for role, reader in readers.items()} == {
        "owner": str(customer),
        "support": str(customer),
        "printer": masking.masked(member),
    }


@pytest.mark.parametrize("typed", ["+4930123456", "+49 (30) 123-456", " +49 30 123456 "])
def test_suppressed_phone_number_is_found_in_any_notation(client, brand, typed):
    number = {"channel": "sms", "address": "+4930123456", "masked": "+49•••56", "reason": "Unknown"}
    suppression.suppress(brand_id=brand.pk, at=timezone.now(), **number)
    list_url = address("loyalty.suppressedaddress")

    assert "+49•••56" in text(client.get(list_url, {"q": typed}))
    assert "+49•••56" not in text(client.get(list_url, {"q": "+49 30 123457"}))


def test_suppressed_address_is_found_and_released(client, brand, customer, own, box, notify, work):
    box.rejections[customer.email] = "550 no"
    notify(customer)
    work()
    row = SuppressedAddress.objects.get()
    list_url = address("loyalty.suppressedaddress")

    assert row.masked_address in text(client.get(list_url, {"q": customer.email.upper()}))
    client.post(list_url, {"action": "let_try_again", "_selected_action": [row.pk]})

    assert not SuppressedAddress.objects.exists()
    assert AuditLogEntry.objects.filter(kind="loyalty.suppressedaddress").exists()
    assert suppression.suppressed_among(brand_id=brand.pk, addresses=[("email", customer.email)]) == set()
