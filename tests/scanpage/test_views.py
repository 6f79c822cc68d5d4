"""The page without scripts: every state of a code, typed codes, and the browser's language."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone

from authcodes.codes import signed_tags
from authcodes.models.codes import AuthCode
from authcodes.models.fake_reports import FakeReport
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from brands.tenants import pictures
from events.models import Event
from tests.brands.tenants.test_pictures import drawing
from tests.scanpage.conftest import Browser, state, text, visible_html
from tests.support import factories
from tests.support.api import Api

pytestmark = pytest.mark.django_db


def recalled_code(brand):
    code = factories.code(brand)
    recall_fields = {
        "recall_id": "R-7",
        "contact": "recall@example.com",
        "message": "Bring it back.",
        "reason": "Found.",
    }
    recalls.recall_batch(batch=code.batch, at=timezone.now(), **recall_fields)
    return code


# --- States ----------------------------------------------------------------------------------------------------------


def test_contact_of_a_recall_is_a_link(browser, brand):
    code = recalled_code(brand)

    page_html = text(browser.scan(code))

    assert '<a data-text="recall.contact" data-contact="recall.contact" href="mailto:recall@example.com">' in page_html


def used_up_code(brand):
    code = factories.code(brand)
    Browser(brand).scan(code)
    AuthCode.objects.filter(pk=code.pk).update(first_scan_at=timezone.now() - timedelta(days=3))
    Scan.objects.update(scanned_at=timezone.now() - timedelta(days=3), user=factories.customer(brand))
    return code


@pytest.mark.parametrize("expected_state", ["used", "unknown"])
def test_suspected_fake_can_be_reported_without_scripts(browser, brand, expected_state):
    code = used_up_code(brand) if expected_state == "used" else "no-such-code"
    page = browser.scan(code)
    assert state(page) == expected_state

    response = browser.send(page, "report", place="Market stall", remark="Blurred", contact="")
    confirmation_page = browser.get(response["Location"])

    report = FakeReport.objects.get()
    assert (report.code, report.place, report.brand) == (str(code), "Market stall", brand)
    assert state(confirmation_page) == "reported"
    assert "Thank you for your report" in visible_html(confirmation_page)


def test_fake_report_without_a_place_is_rejected_and_stays_filled_in(browser, brand):
    response = browser.send(browser.scan("no-such-code"), "report", place="", remark="My own words", contact="")

    assert response.status_code == 400
    assert "My own words" in visible_html(response)
    assert not FakeReport.objects.exists()


def test_fake_report_without_a_csrf_token_is_rejected(browser, brand):
    browser.scan("no-such-code")

    response = browser.client.post("/s/no-such-code", {"act": "report", "place": "x"})

    assert response.status_code == 403
    assert not FakeReport.objects.exists()


def test_genuine_product_has_no_report_form(browser, brand):
    assert 'value="report"' not in visible_html(browser.scan(factories.code(brand)))


def test_opening_a_page_does_not_scan(browser, brand):
    code = factories.code(brand)

    for path in (f"/s/{code}", f"/s/{code}?by=hand", f"/s/{code}?account", "/s/"):
        assert browser.get(path).status_code == 200

    assert not Scan.objects.exists()
    assert not Event.objects.exists()
    assert AuthCode.objects.get(pk=code.pk).scan_count == 0


def test_genuine_product_is_displayed_with_picture_and_available_points(browser, brand):
    picture = pictures.store(brand=brand, encoded=pictures.photograph(drawing()))
    code = factories.code(brand, product=factories.product(brand, title="Night cream", picture=picture))

    page = browser.scan(code)

    assert state(page) == "new"
    html = visible_html(page)
    assert "Night cream" in html
    assert f'src="/pictures/{picture.pk}/small"' in html
    assert 'Log in to earn points: <b data-number="points_available">10</b>' in html


def test_code_scanned_before_shows_time_and_location_of_its_first_scan(browser, brand):
    brand.time_zone = "Asia/Tokyo"
    brand.save()
    code = factories.code(brand, scan_limit=3)
    browser.scan(code)
    first = timezone.now().replace(year=2026, month=1, day=2, hour=20, minute=5)
    AuthCode.objects.filter(pk=code.pk).update(first_scan_at=first, first_scan_location="Bern, Bern")

    page = Browser(brand).scan(code)

    assert state(page) == "seen"
    assert "3 Jan 2026, 05:05 JST" in visible_html(page)  # in Tokyo
    assert "Bern, Bern" in visible_html(page)


def test_code_without_remaining_scans_shows_a_warning(browser, brand):
    code = factories.code(brand)
    Api(brand).as_customer(factories.customer(brand)).verify(code)

    page = browser.scan(code)

    assert state(page) == "used"
    assert "may be a copy" in visible_html(page)
    assert "First checked" in visible_html(page)


def test_code_reserved_by_another_guest_is_not_shown_as_a_copy(browser, brand):
    code = factories.code(brand)
    browser.scan(code)

    page = Browser(brand).scan(code)

    assert state(page) == "reserved"
    assert "Log in to get its points" in visible_html(page)
    assert "may be a copy" not in visible_html(page)


def test_recalled_product_shows_message_and_contact(browser, brand):
    page = browser.scan(recalled_code(brand))

    assert state(page) == "recalled"
    for expected_text in ("Bring it back.", "R-7", "recall@example.com"):
        assert expected_text in visible_html(page)


def test_unknown_code_shows_the_support_address(browser, brand):
    page = browser.scan("NO-SUCH-CODE")

    assert state(page) == "unknown"
    assert brand.support_email in visible_html(page)


@pytest.mark.parametrize("code", ["%20", "x" * 501])
def test_malformed_code_is_shown_as_unknown(browser, brand, code):
    page = browser.scan(code)

    assert state(page) == "unknown"
    assert brand.support_email in visible_html(page)


def test_code_of_another_brand_is_shown_as_unknown(browser):
    assert state(browser.scan(factories.code(factories.brand()))) == "unknown"


def test_rate_limited_scan_shows_the_waiting_state(browser, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "scan": "1/hour"}
    browser.scan(factories.code(brand))

    assert state(browser.scan(factories.code(brand))) == "waiting"


def test_scan_form_submitted_twice_is_one_scan(browser, brand):
    code = factories.code(brand)
    page = browser.get(f"/s/{code}")

    first, second = browser.send(page, "scan"), browser.send(page, "scan")

    assert (state(first), state(second)) == ("new", "new")
    assert Scan.objects.count() == 1


def test_digital_link_opens_the_page_of_its_serial(browser, brand):
    code = factories.code(brand, product=factories.product(brand, gtin="04012345678901"))

    page = browser.send(browser.get(f"/01/04012345678901/21/{code}"), "scan")

    assert state(page) == "new"
    assert Scan.objects.get().auth_code == code


def test_signed_code_is_recognised_only_with_its_tag(browser, brand, settings):
    code = factories.code(brand, signed=True)
    tag = signed_tags.tag(code=code.code, batch_id=code.batch_id, version=code.batch.tag_version)

    assert state(browser.scan(f"{code}.{tag}")) == "new"
    assert state(Browser(brand).scan(code)) == "unknown"


# --- Typing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed_text", "code"),
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
def test_typed_code_is_normalised_and_displayed_for_comparison(browser, typed_text, code):
    response = browser.client.get("/s/", {"typed": typed_text})

    assert response.status_code == 302
    assert response["Location"].startswith("/s/")
    page = browser.get(response["Location"])
    assert page.context["code"] == code
    assert "data-by-hand" in text(page)
    assert not Scan.objects.exists()


def test_easily_confused_characters_are_pointed_out(browser):
    page = browser.get("/s/A0B1?by=hand")

    assert list(page.context["alike"]) == ["0O", "1Il", "8B"]


# --- Languages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept_language", "lang", "direction", "expected_text"),
    [
        ("en-GB,en;q=0.9", "en", "ltr", "Check your product"),
        ("de-AT,de;q=0.9,en;q=0.5", "de", "ltr", "Prüfen Sie Ihr Produkt"),
        ("ar-EG", "ar", "rtl", "تحقّق من منتجك"),
        ("ja,*;q=0.1", "en", "ltr", "Check your product"),
        ("x" * 5000, "en", "ltr", "Check your product"),
    ],
)
def test_page_is_in_the_browsers_language(browser, accept_language, lang, direction, expected_text):
    page = browser.get("/s/", accept_language=accept_language)

    assert f'<html lang="{lang}" dir="{direction}">' in text(page)
    assert expected_text in text(page)
    assert "Accept-Language" in page["Vary"]


def test_chosen_language_is_retained(browser):
    browser.get("/s/?lang=de", accept_language="en")

    assert 'lang="de"' in text(browser.get("/s/", accept_language="en"))
    assert '<html lang="de"' in text(browser.get("/s/?lang=tlh", accept_language="en"))


def test_page_without_a_code_starts_with_the_camera_and_an_open_registration(browser, brand):
    page = browser.get("/s/").content.decode()

    assert page.index('id="camera-offer"') < page.index('id="sign-in"')
    assert (
        page.index('name="entry" open') < page.index('name="act" value="register"') < page.index('data-entry="log_in"')
    )
    assert page.count('name="entry" open') == 1


@pytest.mark.parametrize(("scan_limit", "accepted_scans"), [(1, 1), (3, 2)])
def test_second_scan_shows_the_number_of_accepted_scans(browser, brand, scan_limit, accepted_scans):
    code = factories.code(brand, scan_limit=scan_limit)
    browser.scan(code)

    page = visible_html(Browser(brand).scan(code))

    assert f'<dt>Accepted checks</dt><dd data-number="scan_count">{accepted_scans}</dd>' in page


def test_page_of_a_code_starts_with_the_account(browser, brand):
    page = browser.get(f"/s/{factories.code(brand)}").content.decode()

    assert page.index('id="sign-in"') < page.index('id="camera-offer"')


def test_login_form_stays_open_after_a_failed_login(browser, brand):
    page = browser.log_in(browser.get("/s/"), "a@example.com", "wrong").content.decode()

    assert 'data-entry="log_in" open' in page
    assert page.count(" open>") == 1


@pytest.mark.parametrize("scanned_text", ["K7F3", "https://old.example/p/K7F3"])
def test_imported_code_is_recognised_by_code_and_by_payload(browser, brand, scanned_text):
    batch = factories.batch(brand)
    AuthCode.objects.create(
        brand=brand, batch=batch, product=batch.product, code="K7F3", payload="https://old.example/p/K7F3"
    )

    assert state(browser.scan(quote(scanned_text, safe=""))) == "new"
