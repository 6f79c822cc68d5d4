"""The page without scripts: every state, logging in and getting the points, all by forms."""

import io
import re
from datetime import timedelta
from urllib.parse import quote, urlsplit

import pytest
import qrcode
from django.utils import timezone
from qrcode.image.svg import SvgPathImage

from authcodes.codes import signed_tags
from authcodes.models.codes import AuthCode
from authcodes.models.fake_reports import FakeReport
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from brands.models.credentials import ApiKey, LoginSession
from brands.models.people import User
from brands.tenants import pictures
from events.models import Event
from loyalty.members import confirmations
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.rewards import Redemption, Reward
from loyalty.models.wallets import WalletPass
from loyalty.notifications import rendering
from loyalty.rewards.codes import grouped
from tests.brands.tenants.test_pictures import drawing
from tests.scanpage.conftest import Browser, seen, state, text
from tests.support import factories
from tests.support.api import Api, somewhere
from tests.support.factories import PASSWORD
from tests.support.fakes import wallets

pytestmark = pytest.mark.django_db


def customer_of(brand, **fields):
    return factories.customer(brand, password=PASSWORD, **fields)


def logged_in(brand, customer):
    browser = Browser(brand)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    return browser


def recalled(brand):
    code = factories.code(brand)
    words = {"recall_id": "R-7", "contact": "recall@example.com", "message": "Bring it back.", "reason": "Found."}
    recalls.recall_batch(batch=code.batch, at=timezone.now(), **words)
    return code


# --- States ----------------------------------------------------------------------------------------------------------


def test_a_recalls_contact_is_a_link(browser, brand):
    code = recalled(brand)

    shown = text(browser.scan(code))

    assert '<a data-text="recall.contact" data-contact="recall.contact" href="mailto:recall@example.com">' in shown


def used_up(brand):
    code = factories.code(brand)
    Browser(brand).scan(code)
    AuthCode.objects.filter(pk=code.pk).update(first_scan_at=timezone.now() - timedelta(days=3))
    Scan.objects.update(scanned_at=timezone.now() - timedelta(days=3), user=factories.customer(brand))
    return code


@pytest.mark.parametrize("which", ["used", "unknown"])
def test_a_suspected_fake_is_reported_without_scripts(browser, brand, which):
    code = used_up(brand) if which == "used" else "no-such-code"
    page = browser.scan(code)
    assert state(page) == which

    answer = browser.send(page, "report", place="Market stall", remark="Blurred", contact="")
    thanks = browser.get(answer["Location"])

    kept = FakeReport.objects.get()
    assert (kept.code, kept.place, kept.brand) == (str(code), "Market stall", brand)
    assert state(thanks) == "reported"
    assert "Thank you for your report" in seen(thanks)


def test_a_report_without_a_place_is_asked_for_again(browser, brand):
    answer = browser.send(browser.scan("no-such-code"), "report", place="", remark="My own words", contact="")

    assert answer.status_code == 400
    assert "My own words" in seen(answer)
    assert not FakeReport.objects.exists()


def test_a_report_forged_by_another_site_is_refused(browser, brand):
    browser.scan("no-such-code")

    forged = browser.client.post("/s/no-such-code", {"act": "report", "place": "x"})

    assert forged.status_code == 403
    assert not FakeReport.objects.exists()


def test_a_genuine_product_asks_for_no_report(browser, brand):
    assert 'value="report"' not in seen(browser.scan(factories.code(brand)))


def test_looking_at_a_page_scans_nothing(browser, brand):
    code = factories.code(brand)

    for address in (f"/s/{code}", f"/s/{code}?by=hand", f"/s/{code}?account", "/s/"):
        assert browser.get(address).status_code == 200

    assert not Scan.objects.exists()
    assert not Event.objects.exists()
    assert AuthCode.objects.get(pk=code.pk).scan_count == 0


def test_a_genuine_product_is_shown_with_its_picture_and_what_it_would_earn(browser, brand):
    picture = pictures.store(brand=brand, drawn=pictures.photograph(drawing()))
    code = factories.code(brand, product=factories.product(brand, title="Night cream", picture=picture))

    page = browser.scan(code)

    assert state(page) == "new"
    said = seen(page)
    assert "Night cream" in said
    assert f'src="/pictures/{picture.pk}/small"' in said
    assert 'Log in to earn points: <b data-number="points_available">10</b>' in said


def test_a_code_for_several_scans_tells_when_and_where_it_was_first_checked(browser, brand):
    brand.time_zone = "Asia/Tokyo"
    brand.save()
    code = factories.code(brand, scan_limit=3)
    browser.scan(code)
    first = timezone.now().replace(year=2026, month=1, day=2, hour=20, minute=5)
    AuthCode.objects.filter(pk=code.pk).update(first_scan_at=first, first_scan_location="Bern, Bern")

    page = Browser(brand).scan(code)

    assert state(page) == "seen"
    assert "3 Jan 2026, 05:05 JST" in seen(page)  # in Tokyo
    assert "Bern, Bern" in seen(page)


def test_a_code_that_is_used_up_is_a_warning(browser, brand):
    code = factories.code(brand)
    Api(brand).as_customer(factories.customer(brand)).verify(code)

    page = browser.scan(code)

    assert state(page) == "used"
    assert "may be a copy" in seen(page)
    assert "First checked" in seen(page)


def test_a_code_that_another_guest_has_just_checked_is_neither_a_copy_nor_free(browser, brand):
    code = factories.code(brand)
    browser.scan(code)

    page = Browser(brand).scan(code)

    assert state(page) == "reserved"
    assert "Log in to get its points" in seen(page)
    assert "may be a copy" not in seen(page)


def test_a_recalled_product_tells_whom_to_ask(browser, brand):
    page = browser.scan(recalled(brand))

    assert state(page) == "recalled"
    for words in ("Bring it back.", "R-7", "recall@example.com"):
        assert words in seen(page)


def test_an_unknown_code_tells_what_to_check_and_whom_to_ask(browser, brand):
    page = browser.scan("NO-SUCH-CODE")

    assert state(page) == "unknown"
    assert brand.support_email in seen(page)


@pytest.mark.parametrize("code", ["%20", "x" * 501])
def test_what_no_code_can_look_like_is_an_unknown_code(browser, brand, code):
    page = browser.scan(code)

    assert state(page) == "unknown"
    assert brand.support_email in seen(page)


def test_a_code_of_another_brand_is_not_recognised_here(browser):
    assert state(browser.scan(factories.code(factories.brand()))) == "unknown"


def test_too_many_attempts_are_said_to_be_too_many(browser, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "scan": "1/hour"}
    browser.scan(factories.code(brand))

    assert state(browser.scan(factories.code(brand))) == "waiting"


def test_a_form_sent_twice_is_one_scan(browser, brand):
    code = factories.code(brand)
    page = browser.get(f"/s/{code}")

    first, again = browser.send(page, "scan"), browser.send(page, "scan")

    assert (state(first), state(again)) == ("new", "new")
    assert Scan.objects.count() == 1


def test_a_digital_link_is_the_page_of_its_serial(browser, brand):
    code = factories.code(brand, product=factories.product(brand, gtin="04012345678901"))

    page = browser.send(browser.get(f"/01/04012345678901/21/{code}"), "scan")

    assert state(page) == "new"
    assert Scan.objects.get().auth_code == code


def test_a_signed_code_is_read_with_its_tag(browser, brand, settings):
    code = factories.code(brand, signed=True)
    tag = signed_tags.tag(code=code.code, batch_id=code.batch_id, version=code.batch.tag_version)

    assert state(browser.scan(f"{code}.{tag}")) == "new"
    assert state(Browser(brand).scan(code)) == "unknown"


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
    asked = browser.send(browser.scan(factories.code(brand)), "register", **WHO)
    wrong = browser.send(asked, "confirm", code="12345")
    answer = browser.send(wrong, "confirm", code=mailed_code())
    deliver()

    assert (asked.status_code, wrong.status_code, answer.status_code) == (200, 400, 303)
    assert "a six-digit code" in seen(asked)
    assert "This code is wrong or has expired." in seen(wrong)
    assert '<b data-number="points.points">10</b>' in seen(browser.get(answer["Location"]))
    assert LoyaltyTransaction.objects.get().user_point.user.email == "new@example.com"


def test_the_page_does_not_tell_which_addresses_are_known(browser, brand):
    known = customer_of(brand)
    pages = [
        browser.send(browser.get("/s/"), "register", **WHO | {"email": it}) for it in (known.email, "n@example.com")
    ]

    told = [re.sub(r'value="[^"]*"|nonce[^>]*', "", seen(page)) for page in pages]
    assert (told[0], pages[0].status_code) == (told[1], 200)


def test_where_no_mail_is_sent_one_is_in_at_once(browser, brand, settings):
    settings.REGISTRATION_CONFIRMS_EMAIL = False

    assert browser.send(browser.get("/s/"), "register", **WHO).status_code == 303


@pytest.mark.parametrize("password", ["a long pass phrase", "another pass phrase"])
def test_the_mailed_link_begins_the_account_of_whoever_knows_the_password(browser, brand, password):
    browser.send(browser.get("/s/"), "register", **WHO)
    told = {"c": str(EmailConfirmation.objects.get().pk)}
    link = urlsplit(rendering.address_of(brand, rendering.CONFIRM_REGISTRATION, told)).path
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
    for words in ("Points received", "Ten scans", "Silver", "Points for scanning", "+10"):
        assert words in seen(check_again), words


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
    asked = browser.client.post(
        "/page/session", {"act": "access"}, content_type="application/json", headers={"X-CSRFToken": token}
    )

    assert "data-customer" in text(looked)
    assert state(scanned) == "waiting"
    assert (asked.status_code, asked.json()["error"]) == (429, "RATE_LIMITED")
    assert not Scan.objects.exists()
    settings.RATE_LIMITS = limits
    browser.send(page, "scan")
    assert Scan.objects.get().user == customer


def test_a_forgotten_password_is_set_anew_without_scripts(brand):
    browser, customer = Browser(brand), customer_of(brand)
    assert 'href="/s/?forgot"' in seen(browser.get("/s/"))

    asked = browser.send(browser.get("/s/?forgot"), "forgot", email=customer.email)
    told = {"u": customer.pk, "p": rendering.password_mark(customer)}
    link = rendering.address_of(brand, rendering.NEW_PASSWORD, told).removeprefix(f"http://{browser.host}")
    page = browser.get(link, **{"Accept-Language": "de"})
    form = {"csrfmiddlewaretoken": browser.client.cookies["csrftoken"].value}
    wrong = browser.client.post(link, {**form, "password": "12345"})
    done = browser.client.post(link, {**form, "password": "another long pass phrase"})

    assert Event.objects.get().detail["arguments"]["user_id"] == customer.pk
    assert "we will e-mail a link" in seen(browser.get(asked["Location"]))
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


def test_a_reward_is_redeemed_once_however_often_the_form_is_sent(brand, deliver):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    Reward.objects.create(brand=brand, name="A mug", cost=10)
    browser.scan(factories.code(brand))
    deliver()
    page = browser.send(browser.get("/s/?account"), "redeem")

    assert "Redeem A mug? Price in points: 10. Left after that: 0." in seen(page)
    assert not Redemption.objects.exists()
    first = browser.send(page, "redeem")
    again = browser.send(page, "redeem")

    code = grouped(Redemption.objects.get().code)
    assert code in seen(first)
    assert code in seen(again)
    after = seen(browser.get("/s/?account"))
    assert "You do not have enough points yet. Points missing: 10" in " ".join(after.split())


def test_a_reward_taken_by_mistake_is_given_back_on_the_page(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    factories.points(customer, brand, 20)
    taken = factories.redemption(customer, factories.reward(brand, name="A mug"))
    page = browser.get("/s/?account")

    undone = browser.send(page, "undo")
    hostile = browser.send(page, "undo", redemption="abc")

    assert "Give it back" in seen(page)
    assert "Returned. Your points have been refunded." in seen(undone)
    assert grouped(taken.code) not in seen(undone)
    assert UserPoints.objects.get().points == 20
    assert "Not available at the moment." in seen(hostile)


def test_of_a_page_that_is_gone_back_to_another_reward_is_taken_too(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    factories.points(customer, brand, 20)
    rewards = [factories.reward(brand), factories.reward(brand)]
    page = browser.get("/s/?account")

    for reward in rewards:
        assert "It is yours" in seen(browser.send(page, "redeem", reward=str(reward.pk), confirmed="1"))

    assert Redemption.objects.count() == 2


def test_the_codes_of_rewards_stay_on_the_page_until_they_are_used(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    factories.points(customer, brand, 20)
    mug = factories.reward(brand, name="A mug")
    good, used = factories.redemption(customer, mug), factories.redemption(customer, mug)
    Redemption.objects.filter(pk=good.pk).update(expires_at=timezone.now().replace(year=2036, month=1, day=2))
    Redemption.objects.filter(pk=used.pk).update(status="used", used_at=timezone.now())

    page = seen(browser.get("/s/?account"))

    assert "Your rewards" in page
    assert (grouped(good.code) in page, grouped(used.code) in page) == (True, False)
    assert "2 Jan 2036" in page


def qr_code(words):
    drawn = io.BytesIO()
    qrcode.make(words, image_factory=SvgPathImage, box_size=10, border=4).save(drawn)
    return drawn.getvalue()


def test_the_code_of_a_reward_is_shown_as_a_qr_code_to_its_holder_alone(brand):
    customer = customer_of(brand)
    browser = logged_in(brand, customer)
    factories.points(customer, brand, 30)
    mug = factories.reward(brand, name="A mug")
    good, used = factories.redemption(customer, mug), factories.redemption(customer, mug)
    Redemption.objects.filter(pk=used.pk).update(status="used", used_at=timezone.now())
    picture = f"/page/reward/{good.pk}.svg"

    mine = browser.get(picture)
    others = [logged_in(brand, customer_of(brand)).get(picture), Browser(brand).get(picture)]

    assert picture in seen(browser.get("/s/?account"))
    assert (mine.status_code, mine["Content-Type"], mine["Cache-Control"]) == (200, "image/svg+xml", "no-store")
    assert mine.content == qr_code(grouped(good.code))
    assert [answer.status_code for answer in others] == [404, 404]
    assert browser.get(f"/page/reward/{used.pk}.svg").status_code == 404
    assert good.code not in picture


def test_a_milestones_reward_is_claimed(brand, deliver):
    browser = logged_in(brand, customer_of(brand))
    factories.milestone(factories.campaign(brand), 1, reward_name="A facial", auto_claim=False)
    browser.scan(factories.code(brand))
    deliver()

    page = browser.send(browser.get("/s/?account"), "claim")

    assert "It is yours" in seen(page)
    assert grouped(Redemption.objects.get().code) in seen(page)


def test_wallet_buttons_are_shown_where_there_are_cards_and_make_one_when_they_are_pressed(brand):
    browser = logged_in(brand, customer_of(brand))
    without = seen(browser.get("/s/?account"))
    wallets.apple(brand)
    wallets.google(brand)

    page = seen(browser.get("/s/?account"))
    assert not WalletPass.objects.exists()
    apple, google = browser.get("/page/wallet/apple"), browser.get("/page/wallet/google")

    assert ("/page/wallet/" in without, "/page/wallet/apple" in page, "/page/wallet/google" in page) == (
        False,
        True,
        True,
    )
    assert (apple["Content-Type"], apple.content[:2]) == ("application/vnd.apple.pkpass", b"PK")
    assert google["Location"].startswith("https://pay.google.com/gp/v/save/")
    assert Browser(brand).get("/page/wallet/apple")["Location"] == "/s/?account"


@pytest.mark.parametrize("card", ["apple", "google"])
def test_a_card_that_cannot_be_made_is_told_and_logs_nobody_out(brand, card):
    browser = logged_in(brand, customer_of(brand))
    del browser.client.cookies["page_access"]

    answer = browser.get(f"/page/wallet/{card}")  # the brand has none

    assert (answer["Location"], set(answer.cookies)) == ("/s/?account&no_card", {"page_access", "page_refresh"})
    page = browser.get(answer["Location"])
    assert "The card cannot be created right now." in seen(page)
    assert "data-customer" in text(page)


# --- Typing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        (" abc 0001 ", "abc0001"),
        ("ABC\u20110001", "ABC-0001"),
        ("ＡＢＣ０００１", "ABC0001"),
        ("ABC٠٠٠١", "ABC0001"),
        ("\u200fABC-1\u200e", "ABC-1"),
        ("https://brand.example.com/s/ABC-1?x=1", "ABC-1"),
        ("HTTP://a.example/01/04012345678901/21/ABC-1", "ABC-1"),
        ("ABC.TAG", "ABC.TAG"),
        ("//evil.example.com", "//evil.example.com"),
    ],
)
def test_what_is_typed_is_tidied_and_shown_for_comparison(browser, typed, code):
    answer = browser.client.get("/s/", {"typed": typed})

    assert answer.status_code == 302
    assert answer["Location"].startswith("/s/")
    page = browser.get(answer["Location"])
    assert page.context["code"] == code
    assert "data-by-hand" in text(page)
    assert not Scan.objects.exists()


def test_signs_that_look_alike_are_pointed_out(browser):
    page = browser.get("/s/A0B1?by=hand")

    assert list(page.context["alike"]) == ["0O", "1Il", "8B"]


# --- Languages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accepts", "lang", "direction", "words"),
    [
        ("en-GB,en;q=0.9", "en", "ltr", "Check your product"),
        ("de-AT,de;q=0.9,en;q=0.5", "de", "ltr", "Prüfen Sie Ihr Produkt"),
        ("ar-EG", "ar", "rtl", "تحقّق من منتجك"),
        ("ja,*;q=0.1", "en", "ltr", "Check your product"),
        ("x" * 5000, "en", "ltr", "Check your product"),
    ],
)
def test_the_page_speaks_the_browsers_language(browser, accepts, lang, direction, words):
    page = browser.get("/s/", accept_language=accepts)

    assert f'<html lang="{lang}" dir="{direction}">' in text(page)
    assert words in text(page)
    assert "Accept-Language" in page["Vary"]


def test_the_language_is_switched_and_stays(browser):
    browser.get("/s/?lang=de", accept_language="en")

    assert 'lang="de"' in text(browser.get("/s/", accept_language="en"))
    assert '<html lang="de"' in text(browser.get("/s/?lang=tlh", accept_language="en"))


# --- Whose page ------------------------------------------------------------------------------------------------------


def test_a_host_of_no_brand_says_so(brand, client):
    for address in ("/s/", f"/s/{factories.code(brand)}", "/01/04012345678901/21/A"):
        page = client.get(address, headers={"host": "portal.example.com"})
        assert page.status_code == 404
        assert "No brand at this address" in text(page)
        assert '<html lang="en" dir="ltr">' in text(page)

    page = client.get("/s/", headers={"host": "portal.example.com", "accept-language": "ar"})
    assert '<html lang="ar" dir="rtl">' in text(page)


def test_the_root_of_a_brands_host_is_its_page_and_of_others_the_portal(browser, client, brand):
    assert browser.get("/")["Location"] == "/s/"
    assert client.get("/", headers={"host": "portal.example.com"})["Location"] == "/admin/"


def test_a_hostname_with_a_port_is_met_with_that_port_first(brand, client):
    other = factories.brand(hostname="shop.example.com:8443", name="Other")
    factories.brand(hostname="shop.example.com", name="Plain")

    names = [
        client.get("/s/", headers={"host": f"shop.example.com{port}"}).context["brand"].name
        for port in ("", ":8443", ":1")
    ]

    assert names == ["Plain", other.name, "Plain"]


def test_the_page_has_an_app_key_of_its_own_that_takes_nobodys_place(brand, api, browser):
    api.app()
    api.app()

    text_of_key = browser.get("/s/").context["key"]

    assert browser.get("/s/").context["key"] == text_of_key
    assert api.having(api_key=text_of_key).post("auth-codes/validate", {"code": "x"}).status_code == 200
    key = ApiKey.objects.get(of_scan_page=True)
    assert (key.kind, key.prefix) == ("app", text_of_key[:12])
    api.app()  # still two of one's own


def test_a_revoked_or_expired_key_of_the_page_is_replaced(brand, browser):
    first = browser.get("/s/").context["key"]
    ApiKey.objects.update(revoked_at=timezone.now())
    second = browser.get("/s/").context["key"]
    ApiKey.objects.filter(revoked_at=None).update(expires_at=timezone.now() - timedelta(seconds=1))
    third = browser.get("/s/").context["key"]

    assert len({first, second, third}) == 3


def test_another_secret_makes_another_key_and_ends_the_old_one(brand, browser, settings):
    first = browser.get("/s/").context["key"]

    settings.SECRET_KEY = "another secret of at least fifty characters, 0123456789"

    assert browser.get("/s/").context["key"] != first
    assert ApiKey.objects.filter(revoked_at=None).count() == 1


def test_two_lookups_cost_the_page_and_no_more(browser, django_assert_num_queries):
    browser.get("/s/x")

    with django_assert_num_queries(2):
        browser.get("/s/x")


def test_without_a_code_the_camera_comes_first_and_registering_is_open(browser, brand):
    page = browser.get("/s/").content.decode()

    assert page.index('id="camera-offer"') < page.index('id="sign-in"')
    assert (
        page.index('name="entry" open') < page.index('name="act" value="register"') < page.index('data-entry="log_in"')
    )
    assert page.count('name="entry" open') == 1


def test_a_second_check_counts_the_accepted_ones(browser, brand):
    code = factories.code(brand, scan_limit=1)
    browser.scan(code)

    assert "Accepted checks" in seen(Browser(brand).scan(code))


def test_after_a_code_the_account_comes_first(browser, brand):
    page = browser.get(f"/s/{factories.code(brand)}").content.decode()

    assert page.index('id="sign-in"') < page.index('id="camera-offer"')


def test_a_log_in_that_failed_stays_open(browser, brand):
    page = browser.log_in(browser.get("/s/"), "a@example.com", "wrong").content.decode()

    assert 'data-entry="log_in" open' in page
    assert page.count(" open>") == 1


@pytest.mark.parametrize("scanned", ["K7F3", "https://old.example/p/K7F3"])
def test_a_code_that_was_printed_elsewhere_has_the_page_of_any_code(browser, brand, scanned):
    batch = factories.batch(brand)
    AuthCode.objects.create(
        brand=brand, batch=batch, product=batch.product, code="K7F3", payload="https://old.example/p/K7F3"
    )

    assert state(browser.scan(quote(scanned, safe=""))) == "new"
