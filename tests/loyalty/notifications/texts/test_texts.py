"""The words of notifications: a brand's own, read before they are saved, previewed and tried."""

import html
import re

import pytest

from loyalty.models.notifications import (
    Notification,
    NotificationDelivery,
    NotificationTemplate,
)
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


PREVIEW = "/admin/loyalty/notificationtemplate/preview/"
WORDS = {"template": "NOTIFY_CAMPAIGN_SUCCESS", "channel": "email", "language": "en"}


@pytest.fixture
def client(owner):
    return browser(owner)


# --- Words -----------------------------------------------------------------------------------------------------------


def test_a_brands_own_words_begin_with_ours_and_replace_them(client, brand, customer, own, box, notify, work):
    add = address("loyalty.notificationtemplate", "add")
    begun = form_of(client.get(add, WORDS))
    assert begun["subject"] == "New points at {brand_name}: {points_earned}"

    saved = client.post(add, {**begun, "brand": brand.pk, "subject": "{points_earned} more!", "body": "Hi.\n\n{note}"})
    notify(customer, points_earned=3, note="<i>Scan</i>")
    work()

    assert saved.status_code == 302
    assert box.mails[0]["Subject"] == "3 more!"
    assert "&lt;i&gt;Scan&lt;/i&gt;" in box.mails[0].get_body(("html",)).get_content()


@pytest.mark.parametrize(
    ("wrong", "field", "complaint"),
    [
        ({"body": "{pionts_earned}"}, "body", "{pionts_earned} is not available here. Use one of: {accruals}, "),
        ({"subject": "{points_earned"}, "subject", "A brace is unmatched"),
        ({"body": "{points_earned.real}"}, "body", "{points_earned.real} is not available here"),
        ({"body": "{% load x %}"}, "body", "{% load x %} is not available here"),
        ({"subject": ""}, "subject", "Enter a text."),
        ({"body": " "}, "body", "required"),
        ({"channel": "sms"}, "subject", "An SMS has no subject."),
        ({"channel": "sms", "subject": "", "body": "x" * 481}, "body", "Enter at most 480 characters."),
        ({"template": "NOTIFY_RECALL", "body": "Beware"}, "body", "This text must contain {acknowledge_link}."),
    ],
)
def test_words_that_cannot_be_filled_in_are_refused(client, brand, wrong, field, complaint):
    sent = {"brand": brand.pk, **WORDS, "subject": "Hello", "body": "Hello", **wrong}

    refused = client.post(address("loyalty.notificationtemplate", "add"), sent)

    assert complaint in " ".join(errors(refused)[field])
    assert not NotificationTemplate.objects.exists()


DRAFT = "/admin/loyalty/notificationtemplate/draft/"


def test_words_are_read_before_they_are_saved(client, brand):
    sent = {"brand": brand.pk, **WORDS, "subject": "Well done", "body": "<b>Hi</b>\n\n{brand_name}"}

    shown = client.post(DRAFT, sent).json()
    wrong = client.post(DRAFT, {**sent, "body": "{nobody}"}).json()

    assert shown["subject"] == "Well done"
    assert brand.name in shown["text"]
    assert "&lt;b&gt;Hi" in shown["html"]
    assert "{nobody} is not available here." in wrong["problem"]
    assert "html" not in wrong
    assert not NotificationTemplate.objects.exists()
    assert DRAFT in text(client.get(address("loyalty.notificationtemplate", "add")))


def test_another_choice_of_notice_brings_its_names_and_our_words(client, brand):
    def draft_of(**choice):
        return client.post(DRAFT, {"brand": brand.pk, **WORDS, **choice}).json()

    campaign, recall, sms = draft_of(), draft_of(template="NOTIFY_RECALL"), draft_of(channel="sms", language="de")

    assert "{acknowledge_link}" in dict(recall["names"])
    assert "{acknowledge_link}" not in dict(campaign["names"])
    assert recall["ours"] != campaign["ours"]
    assert (sms["ours"]["subject"], sms["html"]) == ("", "")


@pytest.mark.parametrize("wrong", [{"brand": "x"}, {"template": "x"}, {"channel": ""}, {"language": "\x00"}])
def test_a_draft_of_nothing_is_not_there(client, brand, wrong):
    assert client.post(DRAFT, {"brand": brand.pk, **WORDS, **wrong}).status_code == 404


def test_drafts_are_for_who_writes_words_of_the_brand(client, brand):
    sent = {"brand": brand.pk, **WORDS}
    others = [staff(brand, role="support"), staff(factories.brand())]

    assert [browser(person).post(DRAFT, sent).status_code for person in others] == [404, 404]
    assert client.get(DRAFT).status_code == 405


def test_the_same_words_are_written_once(client, brand):
    sent = {"brand": brand.pk, **WORDS, "subject": "Hello", "body": "Hello"}
    client.post(address("loyalty.notificationtemplate", "add"), sent)

    again = client.post(address("loyalty.notificationtemplate", "add"), sent)

    assert "already has its own text" in text(again)
    assert NotificationTemplate.objects.count() == 1


def test_a_preview_is_locked_into_a_frame_that_runs_nothing(client, brand):
    NotificationTemplate.objects.create(brand=brand, **WORDS, subject="<script>x", body='"><script>alert(1)</script>')

    shown = client.get(PREVIEW, {"brand": brand.pk, **WORDS})

    page = text(shown)
    assert "<script>alert" not in page
    framed = html.unescape(re.search(r'<iframe sandbox="" srcdoc="([^"]*)"', page)[1])
    assert "&lt;script&gt;alert" in framed
    assert "<script" not in framed
    assert "script-src 'self' 'unsafe-eval'" in shown["Content-Security-Policy"]


def test_the_arabic_preview_reads_from_right_to_left(client, brand):
    page = text(client.get(PREVIEW, {"brand": brand.pk, **WORDS, "language": "ar"}))

    assert "lang=&quot;ar&quot; dir=&quot;rtl&quot;" in page
    assert '<pre dir="rtl"' in page
    assert "النقاط الجديدة" in page


@pytest.mark.parametrize(
    "wrong", [{"brand": ""}, {"brand": "x"}, {"brand": "9" * 30}, {"template": "x"}, {"channel": ""}, {"language": "x"}]
)
def test_a_preview_of_nothing_is_not_there(client, brand, wrong):
    assert client.get(PREVIEW, {"brand": brand.pk, **WORDS, **wrong}).status_code == 404
    assert client.post(PREVIEW, {"brand": brand.pk, **WORDS, **wrong}).status_code == 404


def test_another_brands_preview_does_not_exist(client, brand):
    other = factories.brand()

    for call in (client.get, client.post):
        assert call(PREVIEW, {"brand": other.pk, **WORDS}).status_code == 404
    assert not Notification.objects.exists()


def test_every_notice_has_its_link_on_the_list(client, brand):
    page = text(client.get(address("loyalty.notificationtemplate")))

    assert page.count(PREVIEW) == (8 * 3 + 6) * 3  # what concerns the account goes by e-mail alone


# --- Trials ----------------------------------------------------------------------------------------------------------


def test_a_trial_goes_to_who_asked_for_it(client, brand, owner, box, work):
    client.post(PREVIEW, {"brand": brand.pk, **WORDS, "language": "de"})
    work()

    assert box.recipients == [owner.email]
    assert box.mails[0]["Subject"].startswith("Neue Punkte")
    row = NotificationDelivery.objects.get()
    assert (row.status, row.notification.is_test) == ("sent", True)


def test_a_trial_by_sms_keeps_no_number(client, brand, owner, with_sms, work):
    sent = client.post(PREVIEW, {"brand": brand.pk, **WORDS, "channel": "sms", "phone": "+49 30 123456"}, follow=True)
    work()

    assert "Test message queued" in text(sent)
    assert with_sms.messages[0]["To"] == "+4930123456"
    assert "123456" not in str(list(Notification.objects.values())) + str(list(NotificationDelivery.objects.values()))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"channel": "sms", "phone": "+4930123456"}, "SMS is not set up yet"),
        ({"channel": "push"}, "Push is not set up yet"),
    ],
)
def test_a_trial_that_cannot_go_out_says_why(client, brand, fields, message):
    assert message in text(client.post(PREVIEW, {"brand": brand.pk, **WORDS, **fields}, follow=True))
    assert not Notification.objects.exists()


def test_a_trial_without_a_number_says_so(client, brand, with_sms):
    for phone in ("", "030 123"):
        answer = client.post(PREVIEW, {"brand": brand.pk, **WORDS, "channel": "sms", "phone": phone}, follow=True)
        assert "number" in text(answer)
    assert not Notification.objects.exists()


def test_support_neither_looks_nor_sends(brand, customer):
    support, query = browser(staff(brand, role="support")), {"brand": brand.pk, **WORDS}

    assert [support.get(PREVIEW, query).status_code, support.post(PREVIEW, query).status_code] == [404, 404]
