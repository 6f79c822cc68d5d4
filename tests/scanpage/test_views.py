"""The page without scripts: every state of a code, by forms, in the browser's language."""

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
from tests.scanpage.conftest import Browser, seen, state, text
from tests.support import factories
from tests.support.api import Api

pytestmark = pytest.mark.django_db


def recalled(brand):
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
    html = seen(page)
    assert "Night cream" in html
    assert f'src="/pictures/{picture.pk}/small"' in html
    assert 'Log in to earn points: <b data-number="points_available">10</b>' in html


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
    for expected_text in ("Bring it back.", "R-7", "recall@example.com"):
        assert expected_text in seen(page)


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
    ("accepts", "lang", "direction", "expected_text"),
    [
        ("en-GB,en;q=0.9", "en", "ltr", "Check your product"),
        ("de-AT,de;q=0.9,en;q=0.5", "de", "ltr", "Prüfen Sie Ihr Produkt"),
        ("ar-EG", "ar", "rtl", "تحقّق من منتجك"),
        ("ja,*;q=0.1", "en", "ltr", "Check your product"),
        ("x" * 5000, "en", "ltr", "Check your product"),
    ],
)
def test_the_page_speaks_the_browsers_language(browser, accepts, lang, direction, expected_text):
    page = browser.get("/s/", accept_language=accepts)

    assert f'<html lang="{lang}" dir="{direction}">' in text(page)
    assert expected_text in text(page)
    assert "Accept-Language" in page["Vary"]


def test_the_language_is_switched_and_stays(browser):
    browser.get("/s/?lang=de", accept_language="en")

    assert 'lang="de"' in text(browser.get("/s/", accept_language="en"))
    assert '<html lang="de"' in text(browser.get("/s/?lang=tlh", accept_language="en"))


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
