"""The page without scripts: registration, login, points and sessions, all by forms."""

import re
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from authcodes.models.scans import Scan
from brands.models.credentials import LoginSession
from brands.models.people import User
from events.models import Event
from loyalty.members import confirmations
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.notifications import rendering
from scanpage import views
from scanpage.api_client import Answer
from tests.scanpage.conftest import Browser, customer_with_password, logged_in_browser, state, text, visible_html
from tests.support import factories
from tests.support.api import Api, random_address
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db


# --- Logging in ------------------------------------------------------------------------------------------------------


def test_guest_who_logs_in_gets_the_points_of_the_scan(browser, brand, deliver_events):
    customer, code = customer_with_password(brand), factories.code(brand)

    response = browser.log_in(browser.scan(code), customer.email, PASSWORD)
    assert response.status_code == 303
    waiting_page = browser.get(response["Location"])
    deliver_events()
    page = browser.get(response["Location"])

    assert "on their way" in visible_html(waiting_page)
    assert '<meta http-equiv="refresh" content="2">' in visible_html(waiting_page)
    assert "Points received:</b>" in visible_html(page) or "Points received: <b" in visible_html(page)
    assert '<b data-number="points.points">10</b>' in visible_html(page)
    assert LoyaltyTransaction.objects.get().user_point.user == customer


NEW_CUSTOMER = {"email": "new@example.com", "password": "a long pass phrase", "first_name": "New"}


def emailed_code():
    return confirmations.code_of(EmailConfirmation.objects.get().pk)


def test_guest_who_registers_gets_the_points_of_the_scan(browser, brand, deliver_events):
    registration = browser.send(browser.scan(factories.code(brand)), "register", **NEW_CUSTOMER)
    wrong_response = browser.send(registration, "confirm", code="12345")
    response = browser.send(wrong_response, "confirm", code=emailed_code())
    deliver_events()

    assert (registration.status_code, wrong_response.status_code, response.status_code) == (200, 400, 303)
    assert "a six-digit code" in visible_html(registration)
    assert "This code is wrong or has expired." in visible_html(wrong_response)
    assert '<b data-number="points.points">10</b>' in visible_html(browser.get(response["Location"]))
    assert LoyaltyTransaction.objects.get().user_point.user.email == "new@example.com"


def test_registration_does_not_reveal_known_addresses(browser, brand):
    known_customer = customer_with_password(brand)
    pages = [
        browser.send(browser.get("/s/"), "register", **NEW_CUSTOMER | {"email": email})
        for email in (known_customer.email, "n@example.com")
    ]

    normalised_pages = [re.sub(r'value="[^"]*"|nonce[^>]*', "", visible_html(page)) for page in pages]
    assert (normalised_pages[0], pages[0].status_code) == (normalised_pages[1], 200)


def test_registration_without_confirmation_logs_in_immediately(browser, brand, settings):
    settings.REGISTRATION_CONFIRMS_EMAIL = False

    assert browser.send(browser.get("/s/"), "register", **NEW_CUSTOMER).status_code == 303


@pytest.mark.parametrize("password", ["a long pass phrase", "another pass phrase"])
def test_confirmation_link_creates_the_account_only_with_its_password(browser, brand, password):
    browser.send(browser.get("/s/"), "register", **NEW_CUSTOMER)
    parameters = {"c": str(EmailConfirmation.objects.get().pk)}
    link = urlsplit(rendering.address_of(brand, rendering.CONFIRM_REGISTRATION, parameters)).path
    page = browser.get(link)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', visible_html(page))[1]

    response = browser.client.post(link, {"csrfmiddlewaretoken": token, "password": password})

    assert ("Your address is confirmed." in visible_html(response)) == (password == NEW_CUSTOMER["password"])
    assert page["Referrer-Policy"] == "no-referrer"
    assert User.objects.filter(email=NEW_CUSTOMER["email"]).exists() == (password == NEW_CUSTOMER["password"])


def test_verification_link_confirms_the_address_only_by_its_button(browser, brand):
    customer = customer_with_password(brand)
    confirmation = confirmations.begin_verification(user=customer, brand=brand, at=timezone.now())
    link = urlsplit(rendering.address_of(brand, rendering.CONFIRM_EMAIL, {"c": str(confirmation.pk)})).path
    page = browser.get(link)
    assert User.objects.get(pk=customer.pk).email_verified_at is None
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', visible_html(page))[1]

    assert "Your address is confirmed." in visible_html(browser.client.post(link, {"csrfmiddlewaretoken": token}))
    assert User.objects.get(pk=customer.pk).email_verified_at


def test_known_browser_can_log_in_while_guesses_lock_out_others(browser, brand, settings):
    customer = customer_with_password(brand)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    browser.send(browser.get("/s/?account"), "log_out")
    for _ in range(settings.LOGIN_TRIES_PER_DAY + 1):
        Api(brand, address=random_address()).post(
            "auth/token", {"email": customer.email, "password": "wrong", "brand_id": brand.pk}
        )

    assert Browser(brand).log_in(browser.get("/s/"), customer.email, PASSWORD).status_code != 303
    assert browser.log_in(browser.get("/s/"), customer.email, PASSWORD).status_code == 303


def test_wrong_password_shows_an_error_and_does_not_scan_again(browser, brand, deliver_events):
    customer, code = customer_with_password(brand), factories.code(brand)

    wrong_response = browser.log_in(browser.scan(code), customer.email, "not it")
    login_response = browser.log_in(wrong_response, customer.email, PASSWORD)
    deliver_events()

    assert (wrong_response.status_code, state(wrong_response)) == (400, "new")
    assert "E-mail address or password is wrong." in visible_html(wrong_response)
    assert customer.email in visible_html(wrong_response)
    assert "not it" not in text(wrong_response)
    assert '<b data-number="points.points">10</b>' in visible_html(browser.get(login_response["Location"]))
    assert Scan.objects.count() == 1


def test_guest_scan_is_kept_when_the_language_changes(browser, brand, deliver_events):
    customer, code = customer_with_password(brand), factories.code(brand)
    browser.scan(code)

    second_response = browser.send(browser.get(f"/s/{code}?lang=de"), "scan")
    response = browser.log_in(second_response, customer.email, PASSWORD)
    deliver_events()

    assert (state(second_response), "Anmelden und Punkte sammeln" in visible_html(second_response)) == ("new", True)
    assert '<b data-number="points.points">10</b>' in visible_html(browser.get(response["Location"]))
    assert Scan.objects.count() == 1


@pytest.mark.parametrize("login_place", ["the page without a code", "another session"])
def test_guest_scan_is_adopted_after_a_login_in_another_place(browser, brand, deliver_events, login_place):
    customer, code = customer_with_password(brand), factories.code(brand)
    page = browser.get(f"/s/{code}")
    browser.send(page, "scan")

    if login_place == "the page without a code":
        response = browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    else:
        browser.client.cookies["page_access"] = logged_in_browser(brand, customer).client.cookies["page_access"].value
        response = browser.send(page, "scan")
    deliver_events()

    assert '<b data-number="points.points">10</b>' in visible_html(browser.get(response["Location"]))
    assert Scan.objects.get().user == customer
    assert browser.client.cookies["page_scan"].value == ""


def test_login_on_another_codes_page_adopts_the_scan_and_opens_the_account(browser, brand, deliver_events):
    customer, code, other_code = customer_with_password(brand), factories.code(brand), factories.code(brand)
    browser.scan(code)

    response = browser.log_in(browser.get(f"/s/{other_code}"), customer.email, PASSWORD)
    deliver_events()

    assert response["Location"] == f"/s/{other_code}?account"
    assert Scan.objects.get().user == customer


def test_guest_scan_is_retained_until_it_can_be_adopted(browser, brand, deliver_events, monkeypatch):
    customer, code = customer_with_password(brand), factories.code(brand)
    page = browser.scan(code)
    with monkeypatch.context() as patch:
        patch.setattr(views.ScanPage, "adopt", lambda *_: Answer(503))
        assert browser.log_in(page, customer.email, PASSWORD)["Location"] == f"/s/{code}"
    assert Scan.objects.get().user is None

    response = browser.send(browser.get(f"/s/{code}"), "scan")
    deliver_events()

    assert Scan.objects.get().user == customer
    assert '<b data-number="points.points">10</b>' in visible_html(browser.get(response["Location"]))


def test_weak_password_is_rejected_in_the_browsers_language(brand):
    browser = Browser(brand, accept_language="de")

    page = browser.send(browser.get("/s/"), "register", email="new@example.com", password="password12")

    assert page.status_code == 400
    assert "Dieses Passwort ist zu üblich." in visible_html(page)


def test_customer_who_scans_sees_points_campaigns_and_movements(brand, deliver_events):
    customer = customer_with_password(brand)
    factories.level(brand, "Silver", 100)
    factories.campaign(brand, campaign_name="Ten scans")
    browser = logged_in_browser(brand, customer)

    page = browser.scan(factories.code(brand))
    deliver_events()
    account_page = browser.get(f"/s/x?scan={Scan.objects.get().pk}")

    assert (state(page), "on their way" in visible_html(page)) == ("new", True)
    for expected_text in ("Points received", "Ten scans", "Silver", "Points for scanning", "+10"):
        assert expected_text in visible_html(account_page), expected_text


def test_second_scan_by_the_same_customer_is_shown_as_their_own(brand, deliver_events):
    browser, code = logged_in_browser(brand, customer_with_password(brand)), factories.code(brand)
    browser.scan(code)
    deliver_events()

    assert state(browser.scan(code)) == "mine"


def test_logout_revokes_the_login_session(brand):
    browser = logged_in_browser(brand, customer_with_password(brand))

    browser.send(browser.get("/s/?account"), "log_out")

    assert LoginSession.objects.get().revoked_at
    assert "data-customer" not in text(browser.get("/s/"))


def test_logout_that_the_api_rejects_is_reported_and_can_be_repeated(brand, settings):
    browser = logged_in_browser(brand, customer_with_password(brand))
    page = browser.get("/s/?account")
    original_limits, settings.RATE_LIMITS = settings.RATE_LIMITS, {**settings.RATE_LIMITS, "scan": "1/hour"}
    del browser.client.cookies["page_access"]
    browser.get("/s/")  # renews the tokens, which the limit allows once

    assert state(browser.send(page, "log_out")) == "waiting"
    assert not LoginSession.objects.get().revoked_at
    settings.RATE_LIMITS = original_limits
    browser.send(page, "log_out")
    assert LoginSession.objects.get().revoked_at


def test_token_cookies_are_inaccessible_to_scripts(brand, settings):
    settings.SESSION_COOKIE_SECURE = True

    browser = logged_in_browser(brand, customer_with_password(brand))

    cookies = {name: cookie for name, cookie in browser.client.cookies.items() if "page_" in name}
    assert set(cookies) == {"__Host-page_access", "__Host-page_refresh", "__Host-page_device"}
    for cookie in cookies.values():
        assert (cookie["httponly"], cookie["secure"], cookie["samesite"], cookie["path"], cookie["domain"]) == (
            *(True, True, "Lax", "/"),
            "",
        )


def test_missing_access_token_is_renewed_unless_the_session_was_revoked(brand):
    browser = logged_in_browser(brand, customer_with_password(brand))

    del browser.client.cookies["page_access"]
    renewed_page = browser.get("/s/?account")
    LoginSession.objects.update(revoked_at=timezone.now())
    del browser.client.cookies["page_access"]
    ended_page = browser.get("/s/?account")

    assert ("data-customer" in text(renewed_page), "data-customer" in text(ended_page)) == (True, False)
    assert browser.client.cookies["page_refresh"].value == ""


def test_reuse_of_a_refresh_token_by_a_second_request_keeps_the_session(brand):
    """A double click or an early reload sends the same cookies twice."""
    browser = logged_in_browser(brand, customer_with_password(brand))
    del browser.client.cookies["page_access"]
    refresh_token = browser.client.cookies["page_refresh"].value
    page = browser.get("/s/" + factories.code(brand).code)
    del browser.client.cookies["page_access"]
    browser.client.cookies["page_refresh"] = refresh_token

    scan_response = browser.send(page, "scan")

    assert state(scan_response) == "new"
    assert Scan.objects.get().user is not None
    assert not LoginSession.objects.get().revoked_at


def test_scan_waits_instead_of_becoming_a_guest_scan_while_renewal_is_rate_limited(brand, settings):
    customer, code = customer_with_password(brand), factories.code(brand)
    browser = logged_in_browser(brand, customer)
    page = browser.get(f"/s/{code}")
    original_limits, settings.RATE_LIMITS = settings.RATE_LIMITS, {**settings.RATE_LIMITS, "scan": "1/hour"}
    for _attempt in ("allowed", "refused"):
        del browser.client.cookies["page_access"]
        browser.get("/s/")

    viewed_page, scan_response = browser.get(f"/s/{code}"), browser.send(page, "scan")
    token = browser.client.cookies["csrftoken"].value
    response = browser.client.post(
        "/page/session", {"act": "access"}, content_type="application/json", headers={"X-CSRFToken": token}
    )

    assert "data-customer" in text(viewed_page)
    assert state(scan_response) == "waiting"
    assert (response.status_code, response.json()["error"]) == (429, "RATE_LIMITED")
    assert not Scan.objects.exists()
    settings.RATE_LIMITS = original_limits
    browser.send(page, "scan")
    assert Scan.objects.get().user == customer


def test_password_can_be_reset_without_scripts(brand):
    browser, customer = Browser(brand), customer_with_password(brand)
    assert 'href="/s/?forgot"' in visible_html(browser.get("/s/"))

    response = browser.send(browser.get("/s/?forgot"), "forgot", email=customer.email)
    parameters = {"u": customer.pk, "p": rendering.password_mark(customer)}
    link = rendering.address_of(brand, rendering.NEW_PASSWORD, parameters).removeprefix(f"http://{browser.host}")
    page = browser.get(link, **{"Accept-Language": "de"})
    form = {"csrfmiddlewaretoken": browser.client.cookies["csrftoken"].value}
    wrong_response = browser.client.post(link, {**form, "password": "12345"})
    finished = browser.client.post(link, {**form, "password": "another long pass phrase"})

    assert Event.objects.get().detail["arguments"]["user_id"] == customer.pk
    assert "we will e-mail a link" in visible_html(browser.get(response["Location"]))
    assert "Neues Passwort setzen" in visible_html(page)
    assert page["Referrer-Policy"] == "no-referrer"
    assert (wrong_response.status_code, "too short" in visible_html(wrong_response)) == (400, True)
    assert "Your new password is set." in visible_html(browser.get(finished["Location"]))
    browser.log_in(browser.get("/s/"), customer.email, "another long pass phrase")
    assert "data-customer" in text(browser.get("/s/"))


def test_deactivated_customer_is_treated_as_a_guest(brand):
    customer = customer_with_password(brand)
    browser = logged_in_browser(brand, customer)
    type(customer).objects.filter(pk=customer.pk).update(is_active=False)

    page = browser.get("/s/?account")
    scan_response = browser.scan(factories.code(brand))

    assert page.status_code == 200
    assert state(scan_response) == "new"
    assert Scan.objects.get().user is None
