"""Resetting a forgotten password by a mailed link, which works once, for half an hour and only for customers."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from brands.models.people import User
from loyalty.members import passwords
from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import NotificationSettings
from tests.support import factories
from tests.support.api import Api, error, random_address
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)
LINK = re.compile(r"http://(\S+)/password/new/(\S+)")
NEW_PASSWORD = "another long pass phrase"


@pytest.fixture
def member(brand):
    return factories.customer(brand, password=PASSWORD)


@pytest.fixture
def sent_token(api, brand, member, box, work):
    """The token of the mailed link."""
    forgot(api, member.email)
    work()
    [mail] = box.mails
    text, html = mail.iter_parts()
    host, token = LINK.search(text.get_content()).groups()
    assert host == brand.hostnames.get().hostname
    assert token in html.get_content()
    assert (box.recipients, mail["Subject"]) == ([member.email], f"A new password for {brand.name}")
    assert mail["List-Unsubscribe"] is None
    return token


def forgot(api, email):
    return api.post("auth/password/forgot", {"email": email, "brand_id": api.brand.pk})


def reset(api, token, password=NEW_PASSWORD):
    return api.post("auth/password/reset", {"token": token, "password": password})


def log_in(api, email, password):
    return api.post("auth/token", {"email": email, "password": password, "brand_id": api.brand.pk})


def link_of(mail):
    """The host and the token of a mail's link."""
    text, _html = mail.iter_parts()
    return LINK.search(text.get_content()).groups()


def test_reset_link_leads_to_the_brand_of_registration(brand, member, box, work):
    """The password counts at every brand, and the requesting brand could point its hostname at its own server."""
    other_brand = factories.brand()
    UserPoints.objects.create(user=member, brand=other_brand)

    forgot(Api(other_brand), member.email)
    work()

    [mail] = box.mails
    assert link_of(mail)[0] == brand.hostnames.get().hostname


@pytest.mark.parametrize("has_hostname", [True, False])
def test_reset_link_leads_to_the_portal_without_a_registered_brand_or_hostname(
    brand, member, box, work, settings, has_hostname
):
    """Otherwise the first brand to import an address could read the link, as an import needs no consent."""
    settings.PORTAL_URL = "http://portal.example.com"
    if has_hostname:
        User.objects.filter(pk=member.pk).update(registered_brand=None)
    else:
        brand.hostnames.all().delete()
    other_brand = factories.brand()
    UserPoints.objects.create(user=member, brand=other_brand)

    for each in (other_brand, brand):
        forgot(Api(each), member.email)
        work()

    assert [link_of(mail)[0] for mail in box.mails] == ["portal.example.com"] * 2


def test_portal_page_sets_the_password_without_naming_a_brand(api, member, box, work, settings, client):
    settings.PORTAL_URL, settings.ALLOWED_HOSTS = "http://portal.example.com", ["*"]
    User.objects.filter(pk=member.pk).update(registered_brand=None)
    forgot(api, member.email)
    work()
    host, token = link_of(box.mails[-1])
    address, headers = f"/password/new/{token}", {"host": host}

    form = client.get(address, headers=headers)
    weak = client.post(address, {"password": "password"}, headers=headers)
    done = client.post(address, {"password": NEW_PASSWORD}, headers=headers)
    again = client.post(address, {"password": PASSWORD}, headers=headers)

    assert [answer.status_code for answer in (form, weak, done, again)] == [200, 400, 200, 400]
    assert form.headers["Referrer-Policy"] == "no-referrer"
    assert "too common" in weak.content.decode()
    assert "Your new password is set." in done.content.decode()
    assert api.brand.name not in form.content.decode()
    assert log_in(api, member.email, NEW_PASSWORD).status_code == 200


def test_reset_link_sets_a_password_once_and_ends_every_session(api, member, sent_token):
    session = log_in(api, member.email, PASSWORD).json()

    weak, first, again = reset(api, sent_token, "password"), reset(api, sent_token), reset(api, sent_token, PASSWORD)

    assert list(weak.json()["details"]["fields"]) == ["password"]
    assert (first.status_code, first.json()) == (200, {"success": True})
    assert error(again) == (400, "VALIDATION_ERROR")
    assert list(again.json()["details"]["fields"]) == ["token"]
    assert error(api.post("auth/token/refresh", {"refresh": session["refresh"]})) == (401, "TOKEN_INVALID")
    assert log_in(api, member.email, NEW_PASSWORD).status_code == 200


def test_reset_link_expires(api, member, sent_token, monkeypatch):
    monkeypatch.setattr(passwords, "LINK_LIFE", timedelta(-1))

    assert error(reset(api, sent_token)) == (400, "VALIDATION_ERROR")
    assert User.objects.get(pk=member.pk).check_password(PASSWORD)


@pytest.mark.parametrize("fields", [{"is_staff": True}, {"is_active": False}], ids=str)
def test_reset_link_is_rejected_for_staff_and_inactive_users(api, member, sent_token, fields):
    User.objects.filter(pk=member.pk).update(**fields)

    assert error(reset(api, sent_token)) == (400, "VALIDATION_ERROR")


def test_reset_request_does_not_reveal_known_addresses(api, brand, member, box, work):
    other_users = [
        factories.customer(factories.brand()),
        factories.customer(brand, is_staff=True),
        factories.customer(brand, is_active=False),
    ]
    responses = []
    for email in ["nobody@example.com", member.email, *(user.email for user in other_users)]:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            answer = forgot(api, email)
        responses.append((answer.status_code, answer.json(), len(queries)))
    work()

    assert responses == [(202, {"success": True}, responses[0][2])] * 5
    assert box.recipients == [member.email]


def test_repeated_reset_requests_send_one_mail_even_with_notifications_off(api, brand, member, box, work):
    NotificationSettings.objects.create(brand=brand, is_active=False)
    for _ in range(3):
        forgot(api, member.email.upper())
    work()

    assert box.recipients == [member.email]


def test_rate_limited_reset_requests_do_not_affect_other_callers(api, member, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login": "2/minute"}
    other_caller = replace(api, address=random_address())
    assert [forgot(other_caller, member.email).status_code for _ in range(3)] == [202, 202, 429]

    assert forgot(api, member.email).status_code == 202
