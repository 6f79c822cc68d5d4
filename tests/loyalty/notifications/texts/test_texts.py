"""A brand's own texts of notifications: validation, drafts, previews and test sends."""

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
TEXT_KEY = {"template": "NOTIFY_CAMPAIGN_SUCCESS", "channel": "email", "language": "en"}


@pytest.fixture
def client(owner):
    return browser(owner)


# --- Texts -----------------------------------------------------------------------------------------------------------


def test_own_text_starts_from_the_shipped_one_and_replaces_it(client, brand, customer, own, box, notify, work):
    add = address("loyalty.notificationtemplate", "add")
    initial = form_of(client.get(add, TEXT_KEY))
    assert initial["subject"] == "New points at {brand_name}: {points_earned}"

    saved = client.post(
        add, {**initial, "brand": brand.pk, "subject": "{points_earned} more!", "body": "Hi.\n\n{note}"}
    )
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
def test_invalid_texts_are_rejected(client, brand, wrong, field, complaint):
    form_data = {"brand": brand.pk, **TEXT_KEY, "subject": "Hello", "body": "Hello", **wrong}

    response = client.post(address("loyalty.notificationtemplate", "add"), form_data)

    assert complaint in " ".join(errors(response)[field])
    assert not NotificationTemplate.objects.exists()


DRAFT = "/admin/loyalty/notificationtemplate/draft/"


def test_draft_is_rendered_without_being_saved(client, brand):
    form_data = {"brand": brand.pk, **TEXT_KEY, "subject": "Well done", "body": "<b>Hi</b>\n\n{brand_name}"}

    draft = client.post(DRAFT, form_data).json()
    invalid_draft = client.post(DRAFT, {**form_data, "body": "{nobody}"}).json()

    assert draft["subject"] == "Well done"
    assert brand.name in draft["text"]
    assert "&lt;b&gt;Hi" in draft["html"]
    assert "{nobody} is not available here." in invalid_draft["problem"]
    assert "html" not in invalid_draft
    assert not NotificationTemplate.objects.exists()
    assert DRAFT in text(client.get(address("loyalty.notificationtemplate", "add")))


def test_draft_has_placeholders_and_shipped_text_of_its_template(client, brand):
    def draft_of(**choice):
        return client.post(DRAFT, {"brand": brand.pk, **TEXT_KEY, **choice}).json()

    campaign, recall, sms = draft_of(), draft_of(template="NOTIFY_RECALL"), draft_of(channel="sms", language="de")

    assert "{acknowledge_link}" in dict(recall["names"])
    assert "{acknowledge_link}" not in dict(campaign["names"])
    assert recall["ours"] != campaign["ours"]
    assert (sms["ours"]["subject"], sms["html"]) == ("", "")


@pytest.mark.parametrize("wrong", [{"brand": "x"}, {"template": "x"}, {"channel": ""}, {"language": "\x00"}])
def test_draft_with_invalid_parameters_is_not_found(client, brand, wrong):
    assert client.post(DRAFT, {"brand": brand.pk, **TEXT_KEY, **wrong}).status_code == 404


def test_only_editors_of_the_brands_texts_can_render_drafts(client, brand):
    form_data = {"brand": brand.pk, **TEXT_KEY}
    other_users = [staff(brand, role="support"), staff(factories.brand())]

    assert [browser(user).post(DRAFT, form_data).status_code for user in other_users] == [404, 404]
    assert client.get(DRAFT).status_code == 405


def test_text_of_the_same_template_and_channel_is_added_once(client, brand):
    form_data = {"brand": brand.pk, **TEXT_KEY, "subject": "Hello", "body": "Hello"}
    client.post(address("loyalty.notificationtemplate", "add"), form_data)

    again = client.post(address("loyalty.notificationtemplate", "add"), form_data)

    assert "already has its own text" in text(again)
    assert NotificationTemplate.objects.count() == 1


def test_preview_is_in_a_sandboxed_frame_without_scripts(client, brand):
    NotificationTemplate.objects.create(
        brand=brand, **TEXT_KEY, subject="<script>x", body='"><script>alert(1)</script>'
    )

    response = client.get(PREVIEW, {"brand": brand.pk, **TEXT_KEY})

    page = text(response)
    assert "<script>alert" not in page
    framed = html.unescape(re.search(r'<iframe sandbox="" srcdoc="([^"]*)"', page)[1])
    assert "&lt;script&gt;alert" in framed
    assert "<script" not in framed
    assert "script-src 'self' 'unsafe-eval'" in response["Content-Security-Policy"]


def test_arabic_preview_is_right_to_left(client, brand):
    page = text(client.get(PREVIEW, {"brand": brand.pk, **TEXT_KEY, "language": "ar"}))

    assert "lang=&quot;ar&quot; dir=&quot;rtl&quot;" in page
    assert '<pre dir="rtl"' in page
    assert "النقاط الجديدة" in page


@pytest.mark.parametrize(
    "wrong", [{"brand": ""}, {"brand": "x"}, {"brand": "9" * 30}, {"template": "x"}, {"channel": ""}, {"language": "x"}]
)
def test_preview_with_invalid_parameters_is_not_found(client, brand, wrong):
    assert client.get(PREVIEW, {"brand": brand.pk, **TEXT_KEY, **wrong}).status_code == 404
    assert client.post(PREVIEW, {"brand": brand.pk, **TEXT_KEY, **wrong}).status_code == 404


def test_preview_of_another_brand_is_not_found(client, brand):
    other_brand = factories.brand()

    for method in (client.get, client.post):
        assert method(PREVIEW, {"brand": other_brand.pk, **TEXT_KEY}).status_code == 404
    assert not Notification.objects.exists()


def test_list_has_a_link_to_every_preview(client, brand):
    page = text(client.get(address("loyalty.notificationtemplate")))

    assert page.count(PREVIEW) == (8 * 3 + 6) * 3  # mails about the account exist for e-mail only


# --- Test sends ------------------------------------------------------------------------------------------------------


def test_test_send_goes_to_the_staff_user_who_started_it(client, brand, owner, box, work):
    client.post(PREVIEW, {"brand": brand.pk, **TEXT_KEY, "language": "de"})
    work()

    assert box.recipients == [owner.email]
    assert box.mails[0]["Subject"].startswith("Neue Punkte")
    row = NotificationDelivery.objects.get()
    assert (row.status, row.notification.is_test) == ("sent", True)


def test_test_send_by_sms_does_not_store_the_number(client, brand, owner, with_sms, work):
    answer = client.post(
        PREVIEW, {"brand": brand.pk, **TEXT_KEY, "channel": "sms", "phone": "+49 30 123456"}, follow=True
    )
    work()

    assert "Test message queued" in text(answer)
    assert with_sms.messages[0]["To"] == "+4930123456"
    assert "123456" not in str(list(Notification.objects.values())) + str(list(NotificationDelivery.objects.values()))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"channel": "sms", "phone": "+4930123456"}, "SMS is not set up yet"),
        ({"channel": "push"}, "Push is not set up yet"),
    ],
)
def test_test_send_by_a_channel_without_settings_shows_an_error(client, brand, fields, message):
    assert message in text(client.post(PREVIEW, {"brand": brand.pk, **TEXT_KEY, **fields}, follow=True))
    assert not Notification.objects.exists()


def test_test_send_by_sms_requires_a_valid_number(client, brand, with_sms):
    for phone in ("", "030 123"):
        answer = client.post(PREVIEW, {"brand": brand.pk, **TEXT_KEY, "channel": "sms", "phone": phone}, follow=True)
        assert "number" in text(answer)
        assert f'value="{phone}"' in text(answer)
    assert not Notification.objects.exists()


def test_support_can_neither_preview_nor_send(brand, customer):
    support, query = browser(staff(brand, role="support")), {"brand": brand.pk, **TEXT_KEY}

    assert [support.get(PREVIEW, query).status_code, support.post(PREVIEW, query).status_code] == [404, 404]
