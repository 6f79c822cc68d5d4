"""The page without scripts: registering, logging in, getting the points, and sessions that end, all by forms."""

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
from tests.scanpage.conftest import Browser, customer_of, logged_in, seen, state, text
from tests.support import factories
from tests.support.api import Api, somewhere
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db


# --- Logging in ------------------------------------------------------------------------------------------------------


def test_a_guest_logs_in_and_gets_the_points_of_the_scan(browser, brand, deliver):
    customer, code = customer_of(brand), factories.code(brand)

    answer = browser.log_in(browser.scan(code), customer.email, PASSWORD)
    assert answer.status_code == 303
    waiting = browser.get(answer["Location"])
    deliver()
    page = browser.get(answer["Location"])

    assert "on their way" in seen(waiting)
    assert '<meta http-equiv="refresh" content="2">' in seen(waiting)
    assert "Points received:</b>" in seen(page) or "Points received: <b" in seen(page)
    assert '<b data-number="points.points">10</b>' in seen(page)
    assert LoyaltyTransaction.objects.get().user_point.user == customer


WHO = {"email": "new@example.com", "password": "a long pass phrase", "first_name": "New"}


def mailed_code():
    return confirmations.code_of(EmailConfirmation.objects.get().pk)


def test_somebody_new_registers_and_gets_them_too(browser, brand, deliver):
    registration = browser.send(browser.scan(factories.code(brand)), "register", **WHO)
    wrong = browser.send(registration, "confirm", code="12345")
    answer = browser.send(wrong, "confirm", code=mailed_code())
    deliver()

    assert (registration.status_code, wrong.status_code, answer.status_code) == (200, 400, 303)
    assert "a six-digit code" in seen(registration)
    assert "This code is wrong or has expired." in seen(wrong)
    assert '<b data-number="points.points">10</b>' in seen(browser.get(answer["Location"]))
    assert LoyaltyTransaction.objects.get().user_point.user.email == "new@example.com"


def test_the_page_does_not_tell_which_addresses_are_known(browser, brand):
    known = customer_of(brand)
    pages = [
        browser.send(browser.get("/s/"), "register", **WHO | {"email": it}) for it in (known.email, "n@example.com")
    ]

    page_texts = [re.sub(r'value="[^"]*"|nonce[^>]*', "", seen(page)) for page in pages]
    assert (page_texts[0], pages[0].status_code) == (page_texts[1], 200)


def test_where_no_mail_is_sent_one_is_in_at_once(browser, brand, settings):
    settings.REGISTRATION_CONFIRMS_EMAIL = False

    assert browser.send(browser.get("/s/"), "register", **WHO).status_code == 303


@pytest.mark.parametrize("password", ["a long pass phrase", "another pass phrase"])
def test_the_mailed_link_begins_the_account_of_whoever_knows_the_password(browser, brand, password):
    browser.send(browser.get("/s/"), "register", **WHO)
    parameters = {"c": str(EmailConfirmation.objects.get().pk)}
    link = urlsplit(rendering.address_of(brand, rendering.CONFIRM_REGISTRATION, parameters)).path
    page = browser.get(link)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', seen(page))[1]

    answer = browser.client.post(link, {"csrfmiddlewaretoken": token, "password": password})

    assert ("Your address is confirmed." in seen(answer)) == (password == WHO["password"])
    assert page["Referrer-Policy"] == "no-referrer"
    assert User.objects.filter(email=WHO["email"]).exists() == (password == WHO["password"])


def test_a_customers_link_proves_the_address_when_its_button_is_pressed(browser, brand):
    customer = customer_of(brand)
    made = confirmations.begin_verification(user=customer, brand=brand, at=timezone.now())
    link = urlsplit(rendering.address_of(brand, rendering.CONFIRM_EMAIL, {"c": str(made.pk)})).path
    page = browser.get(link)
    assert User.objects.get(pk=customer.pk).email_verified_at is None
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', seen(page))[1]

    assert "Your address is confirmed." in seen(browser.client.post(link, {"csrfmiddlewaretoken": token}))
    assert User.objects.get(pk=customer.pk).email_verified_at


def test_a_browser_that_was_used_before_logs_in_while_others_guess(browser, brand, settings):
    customer = customer_of(brand)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    browser.send(browser.get("/s/?account"), "log_out")
    for _ in range(settings.LOGIN_TRIES_PER_DAY + 1):
        Api(brand, address=somewhere()).post(
            "auth/token", {"email": customer.email, "password": "wrong", "brand_id": brand.pk}
        )

    assert Browser(brand).log_in(browser.get("/s/"), customer.email, PASSWORD).status_code != 303
    assert browser.log_in(browser.get("/s/"), customer.email, PASSWORD).status_code == 303


def test_a_wrong_password_is_said_beside_the_scan_which_stays_one(browser, brand, deliver):
    customer, code = customer_of(brand), factories.code(brand)

    wrong = browser.log_in(browser.scan(code), customer.email, "not it")
    right = browser.log_in(wrong, customer.email, PASSWORD)
    deliver()

    assert (wrong.status_code, state(wrong)) == (400, "new")
    assert "E-mail address or password is wrong." in seen(wrong)
    assert customer.email in seen(wrong)
    assert "not it" not in text(wrong)
    assert '<b data-number="points.points">10</b>' in seen(browser.get(right["Location"]))
    assert Scan.objects.count() == 1


def test_a_guests_scan_stays_theirs_in_another_language(browser, brand, deliver):
    customer, code = customer_of(brand), factories.code(brand)
    browser.scan(code)

    again = browser.send(browser.get(f"/s/{code}?lang=de"), "scan")
    answer = browser.log_in(again, customer.email, PASSWORD)
    deliver()

    assert (state(again), "Anmelden und Punkte sammeln" in seen(again)) == ("new", True)
    assert '<b data-number="points.points">10</b>' in seen(browser.get(answer["Location"]))
    assert Scan.objects.count() == 1


@pytest.mark.parametrize("where", ["the page without a code", "another session"])
def test_a_guests_scan_stays_theirs_when_they_log_in_elsewhere(browser, brand, deliver, where):
    customer, code = customer_of(brand), factories.code(brand)
    page = browser.get(f"/s/{code}")
    browser.send(page, "scan")

    if where == "the page without a code":
        answer = browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    else:
        browser.client.cookies["page_access"] = logged_in(brand, customer).client.cookies["page_access"].value
        answer = browser.send(page, "scan")
    deliver()

    assert '<b data-number="points.points">10</b>' in seen(browser.get(answer["Location"]))
    assert Scan.objects.get().user == customer
    assert browser.client.cookies["page_scan"].value == ""


def test_a_login_on_another_codes_page_shows_nothing_of_the_scan_there(browser, brand, deliver):
    customer, code, other = customer_of(brand), factories.code(brand), factories.code(brand)
    browser.scan(code)

    answer = browser.log_in(browser.get(f"/s/{other}"), customer.email, PASSWORD)
    deliver()

    assert answer["Location"] == f"/s/{other}?account"
    assert Scan.objects.get().user == customer


def test_a_guests_scan_stays_saved_while_it_cannot_be_adopted(browser, brand, deliver, monkeypatch):
    customer, code = customer_of(brand), factories.code(brand)
    page = browser.scan(code)
    with monkeypatch.context() as patch:
        patch.setattr(views.ScanPage, "adopt", lambda *_: Answer(503))
        assert browser.log_in(page, customer.email, PASSWORD)["Location"] == f"/s/{code}"
    assert Scan.objects.get().user is None

    answer = browser.send(browser.get(f"/s/{code}"), "scan")
    deliver()

    assert Scan.objects.get().user == customer
    assert '<b data-number="points.points">10</b>' in seen(browser.get(answer["Location"]))


def test_a_weak_password_is_refused_in_the_visitors_language(brand):
    browser = Browser(brand, accept_language="de")

    page = browser.send(browser.get("/s/"), "register", email="new@example.com", password="password12")

    assert page.status_code == 400
    assert "Dieses Passwort ist zu üblich." in seen(page)


def test_a_customer_scans_and_sees_points_campaigns_and_movements(brand, deliver):
    customer = customer_of(brand)
    factories.level(brand, "Silver", 100)
    factories.campaign(brand, campaign_name="Ten scans")
    browser = logged_in(brand, customer)

    page = browser.scan(factories.code(brand))
    deliver()
    check_again = browser.get(f"/s/x?scan={Scan.objects.get().pk}")

    assert (state(page), "on their way" in seen(page)) == ("new", True)
    for expected_text in ("Points received", "Ten scans", "Silver", "Points for scanning", "+10"):
        assert expected_text in seen(check_again), expected_text


def test_a_customers_second_look_says_that_it_is_theirs(brand, deliver):
    browser, code = logged_in(brand, customer_of(brand)), factories.code(brand)
    browser.scan(code)
    deliver()

    assert state(browser.scan(code)) == "mine"


def test_logging_out_ends_the_session_everywhere(brand):
    browser = logged_in(brand, customer_of(brand))

    browser.send(browser.get("/s/?account"), "log_out")

    assert LoginSession.objects.get().revoked_at
    assert "data-customer" not in text(browser.get("/s/"))


def test_the_tokens_are_out_of_reach_of_scripts(brand, settings):
    settings.SESSION_COOKIE_SECURE = True

    browser = logged_in(brand, customer_of(brand))

    cookies = {name: each for name, each in browser.client.cookies.items() if "page_" in name}
    assert set(cookies) == {"__Host-page_access", "__Host-page_refresh", "__Host-page_device"}
    for each in cookies.values():
        assert (each["httponly"], each["secure"], each["samesite"], each["path"], each["domain"]) == (
            *(True, True, "Lax", "/"),
            "",
        )


def test_an_ended_access_token_is_renewed_and_an_ended_session_forgotten(brand):
    browser = logged_in(brand, customer_of(brand))

    del browser.client.cookies["page_access"]
    renewed = browser.get("/s/?account")
    LoginSession.objects.update(revoked_at=timezone.now())
    del browser.client.cookies["page_access"]
    ended = browser.get("/s/?account")

    assert ("data-customer" in text(renewed), "data-customer" in text(ended)) == (True, False)
    assert browser.client.cookies["page_refresh"].value == ""


def test_two_requests_with_one_refresh_token_leave_the_customer_logged_in(brand):
    """A button pressed twice, a reload before the answer: both carry the same cookies."""
    browser = logged_in(brand, customer_of(brand))
    del browser.client.cookies["page_access"]
    before = browser.client.cookies["page_refresh"].value
    page = browser.get("/s/" + factories.code(brand).code)
    del browser.client.cookies["page_access"]
    browser.client.cookies["page_refresh"] = before

    scanned = browser.send(page, "scan")

    assert state(scanned) == "new"
    assert Scan.objects.get().user is not None
    assert not LoginSession.objects.get().revoked_at


def test_while_refreshing_is_refused_a_customers_scan_does_not_go_out_as_a_guests(brand, settings):
    customer, code = customer_of(brand), factories.code(brand)
    browser = logged_in(brand, customer)
    page = browser.get(f"/s/{code}")
    limits, settings.RATE_LIMITS = settings.RATE_LIMITS, {**settings.RATE_LIMITS, "scan": "1/hour"}
    for _time in ("allowed", "refused"):
        del browser.client.cookies["page_access"]
        browser.get("/s/")

    looked, scanned = browser.get(f"/s/{code}"), browser.send(page, "scan")
    token = browser.client.cookies["csrftoken"].value
    response = browser.client.post(
        "/page/session", {"act": "access"}, content_type="application/json", headers={"X-CSRFToken": token}
    )

    assert "data-customer" in text(looked)
    assert state(scanned) == "waiting"
    assert (response.status_code, response.json()["error"]) == (429, "RATE_LIMITED")
    assert not Scan.objects.exists()
    settings.RATE_LIMITS = limits
    browser.send(page, "scan")
    assert Scan.objects.get().user == customer


def test_a_forgotten_password_is_set_anew_without_scripts(brand):
    browser, customer = Browser(brand), customer_of(brand)
    assert 'href="/s/?forgot"' in seen(browser.get("/s/"))

    response = browser.send(browser.get("/s/?forgot"), "forgot", email=customer.email)
    parameters = {"u": customer.pk, "p": rendering.password_mark(customer)}
    link = rendering.address_of(brand, rendering.NEW_PASSWORD, parameters).removeprefix(f"http://{browser.host}")
    page = browser.get(link, **{"Accept-Language": "de"})
    form = {"csrfmiddlewaretoken": browser.client.cookies["csrftoken"].value}
    wrong = browser.client.post(link, {**form, "password": "12345"})
    done = browser.client.post(link, {**form, "password": "another long pass phrase"})

    assert Event.objects.get().detail["arguments"]["user_id"] == customer.pk
    assert "we will e-mail a link" in seen(browser.get(response["Location"]))
    assert "Neues Passwort setzen" in seen(page)
    assert page["Referrer-Policy"] == "no-referrer"
    assert (wrong.status_code, "too short" in seen(wrong)) == (400, True)
    assert "Your new password is set." in seen(browser.get(done["Location"]))
    browser.log_in(browser.get("/s/"), customer.email, "another long pass phrase")
    assert "data-customer" in text(browser.get("/s/"))


def test_a_switched_off_customer_is_a_guest_again(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    type(customer).objects.filter(pk=customer.pk).update(is_active=False)

    page = browser.get("/s/?account")
    scanned = browser.scan(factories.code(brand))

    assert page.status_code == 200
    assert state(scanned) == "new"
    assert Scan.objects.get().user is None
