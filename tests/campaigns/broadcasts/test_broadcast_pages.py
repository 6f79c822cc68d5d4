"""The pages of broadcasts: editing with a live count, preview, test send, sending after a confirmation, cancelling."""

import html
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from campaigns.broadcasts import audience, figures
from campaigns.broadcasts.audience import Audience
from campaigns.segments import evaluate
from core import languages
from events import worker
from jobs.models import Job
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import NotificationDelivery, NotificationSettings
from loyalty.notifications import preferences
from tests.campaigns.broadcasts.conftest import run_job, send
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db(transaction=True)
LABEL = "loyalty.broadcast"
TEXTS = {"subject_en": "Spring", "body_en": "Hello {customer_name}", "short_text_en": ""}


@pytest.fixture
def manager(sender):
    return browser(staff(sender, role="manager", email="max@example.com"))


def form_data(brand, **fields):
    return {"brand": brand.pk, "name": "Spring", "channels": ["email"], "segment": "", **TEXTS, **fields}


def audit_actions(label=LABEL):
    return list(AuditLogEntry.objects.filter(kind=label).order_by("pk").values_list("action", flat=True))


def unescaped_text(response):
    return html.unescape(text(response))


def test_broadcast_is_written_sent_and_counted(sender, manager, box, work):
    customer, opted_out = factories.customer(sender, first_name="Ada"), factories.customer(sender)
    preferences.opt_out(opted_out.pk, sender.pk, channel="email", topics=["offers"], at=timezone.now())
    segment = factories.segment(sender, name="Everyone")
    evaluate.evaluate(segment.pk, at=timezone.now())

    answer = manager.post(address(LABEL, "add"), form_data(sender, segment=segment.pk))
    broadcast = Broadcast.objects.get()
    assert answer.status_code == 302
    assert answer.url == address(LABEL, "change", broadcast.pk)
    assert (broadcast.segment_name, broadcast.created_by.email) == ("Everyone", "max@example.com")
    assert broadcast.texts == {"en": {"subject": "Spring", "body": "Hello {customer_name}", "short_text": ""}}

    confirmation = unescaped_text(manager.get(address(LABEL, "send", broadcast.pk)))
    assert "It reaches 1 of 2 members." in confirmation
    assert "Send to 1 member" in confirmation
    assert not Job.objects.exists()
    response = manager.post(address(LABEL, "send", broadcast.pk))
    assert response.url == address(LABEL, "change", broadcast.pk)
    run_job(broadcast)
    work()

    assert box.recipients == [customer.email]
    page = manager.get(response.url)
    assert page.context["figures"] == [
        ("Members", "2"),
        ("Reached", "1"),
        ("On the way", "0"),
        ("Failed", "0"),
        ("Opted out", "1"),
        ("No address", "0"),
        ("Stopped", "0"),
    ]
    assert audit_actions() == ["Added", "Sent"]
    log = manager.get(page.context["log_address"])
    assert log.context["cl"].result_count == 2


def test_confirmation_states_the_number_of_members(sender, manager):
    broadcast = factories.broadcast(sender)
    for _ in range(3):
        factories.customer(sender)

    assert "Send to 3 members" in unescaped_text(manager.get(address(LABEL, "send", broadcast.pk)))


@pytest.mark.parametrize(("planned_in", "button"), [(None, "Send to 1,234 members"), (2, "Plan for 1,234 members")])
def test_confirmation_groups_the_digits_of_large_numbers(sender, manager, monkeypatch, planned_in, button):
    send_at = timezone.now() + timedelta(hours=planned_in) if planned_in else None
    broadcast = factories.broadcast(sender, send_at=send_at)
    counted = Audience(members=54321, email=1234, sms=0, push=0, reachable=1234)
    monkeypatch.setattr(audience, "count", lambda **_audience: counted)

    confirmation = unescaped_text(manager.get(address(LABEL, "send", broadcast.pk)))

    assert button in confirmation
    assert "It reaches 1,234 of 54,321 members." in confirmation
    assert "E-mail: 1,234" in confirmation


def test_planned_moment_is_in_the_time_zone_of_the_brand(sender, manager, customer):
    sender.time_zone = "Asia/Tokyo"
    sender.save()
    moment = {"send_at_0": "2027-03-01", "send_at_1": "09:00"}

    manager.post(address(LABEL, "add"), form_data(sender, **moment))
    broadcast = Broadcast.objects.get()
    assert broadcast.send_at == datetime(2027, 3, 1, 0, 0, tzinfo=UTC)
    confirmation = unescaped_text(manager.get(address(LABEL, "send", broadcast.pk)))
    assert "Sending begins on 1 Mar 2027, 09:00" in confirmation
    assert "Plan for 1 member" in confirmation
    manager.post(address(LABEL, "send", broadcast.pk))

    broadcast.refresh_from_db()
    assert (broadcast.state, broadcast.next_at) == ("planned", broadcast.send_at)
    assert audit_actions() == ["Added", "Planned"]
    manager.post(address(LABEL, "back_to_draft", broadcast.pk))
    broadcast.refresh_from_db()
    assert (broadcast.state, audit_actions()[-1]) == ("draft", "Move back to draft")


INVALID_FIELDS = {
    "no text": ({"body_en": ""}, "body_en", "Enter a text."),
    "unknown placeholder": ({"body_en": "Hi {points}"}, "body_en", "{points} is not available here."),
    "an open brace": ({"subject_en": "Hi {"}, "subject_en", "A brace is unmatched."),
    "too long": ({"subject_en": "a" * 201}, "subject_en", "Enter at most 200 characters."),
    "half a language": ({"subject_de": "Hallo"}, "body_de", "Enter a text."),
    "not the brand's language": (
        {"subject_en": "", "body_en": "", "subject_de": "Hallo", "body_de": "Text"},
        "subject_en",
        "Enter a text.",
    ),
    "no short text": ({"channels": ["email", "sms"]}, "short_text_en", "Enter a text."),
    "no channel": ({"channels": []}, "channels", "This field is required."),
    "an unknown channel": ({"channels": ["fax"]}, "channels", "Select a valid choice."),
    "a moment that is over": (
        {"send_at_0": "2020-01-01", "send_at_1": "00:00"},
        "send_at",
        "This date and time is in the past.",
    ),
    "a moment far off": (
        {"send_at_0": "2190-01-01", "send_at_1": "00:00"},
        "send_at",
        "Choose a moment within a year.",
    ),
    "no name": ({"name": " "}, "name", "This field is required."),
}


@pytest.mark.parametrize(("fields", "field", "message"), INVALID_FIELDS.values(), ids=list(INVALID_FIELDS))
def test_invalid_broadcast_is_rejected_at_its_field(sender, manager, fields, field, message):
    answer = manager.post(address(LABEL, "add"), form_data(sender, **fields))

    assert answer.status_code == 200
    assert errors(answer)[field][0].startswith(message)
    assert not Broadcast.objects.exists()


def test_segment_of_another_brand_is_rejected(sender, manager):
    foreign = factories.segment(factories.brand())

    answer = manager.post(address(LABEL, "add"), form_data(sender, segment=foreign.pk))

    assert "segment" in errors(answer)


def test_texts_changed_by_another_user_are_not_overwritten(sender, manager):
    broadcast = factories.broadcast(sender)
    page = address(LABEL, "change", broadcast.pk)
    opened = form_of(manager.get(page))
    Broadcast.objects.update(texts={"en": {"subject": "Theirs", "body": "Theirs", "short_text": ""}})

    answer = manager.post(page, {**opened, "subject_en": "Mine"})

    assert "Someone else changed the texts" in unescaped_text(answer)
    assert Broadcast.objects.get().texts["en"]["subject"] == "Theirs"


def test_draft_can_be_changed(sender, manager):
    broadcast = factories.broadcast(sender)
    page = address(LABEL, "change", broadcast.pk)

    answer = manager.post(page, {**form_of(manager.get(page)), "subject_en": "Mine", "subject_de": "", "body_de": ""})

    assert answer.status_code == 302, errors(answer)
    broadcast.refresh_from_db()
    assert broadcast.texts["en"]["subject"] == "Mine"


@pytest.mark.parametrize("state", ["planned", "sending", "sent", "cancelled", "failed"])
def test_only_a_draft_can_be_changed_or_deleted(sender, manager, state):
    broadcast = factories.broadcast(sender, state=state, next_at=timezone.now() + timedelta(days=1))

    assert manager.post(address(LABEL, "change", broadcast.pk), form_data(sender, name="Other")).status_code == 403
    assert manager.post(address(LABEL, "delete", broadcast.pk), {"post": "yes"}).status_code == 403
    assert Broadcast.objects.get().name == "Spring"


def test_second_send_is_rejected_with_a_message(sender, manager, customer):
    broadcast = factories.broadcast(sender)
    manager.post(address(LABEL, "send", broadcast.pk))

    answer = manager.post(address(LABEL, "send", broadcast.pk))

    assert "This broadcast is now being sent." in unescaped_text(answer)
    assert Job.objects.count() == 1


def test_cancelling_asks_for_confirmation_first(sender, manager, customer, box, work):
    broadcast = factories.broadcast(sender)
    manager.post(address(LABEL, "send", broadcast.pk))

    assert "cannot be sent again" in unescaped_text(manager.get(address(LABEL, "cancel", broadcast.pk)))
    manager.post(address(LABEL, "cancel", broadcast.pk))
    work()

    broadcast.refresh_from_db()
    assert (broadcast.state, Job.objects.get().status, box.recipients) == ("cancelled", "cancelled", [])
    assert audit_actions() == ["Sent", "Cancelled"]


def test_cancellation_is_displayed_in_the_language_of_each_reader(sender, manager, customer, box, work):
    box.rejections[customer.email] = "450 later"
    broadcast = send(factories.broadcast(sender))
    worker.drain(lane="broadcasts")
    german = browser(staff(sender, role="manager", email="greta@example.com", portal_language="de"))

    german.post(address(LABEL, "cancel", broadcast.pk))

    row = NotificationDelivery.objects.get()
    broadcast.refresh_from_db()
    assert (row.status, row.last_error) == ("suppressed", "Cancelled.")
    for language in ("en", "de"):
        with languages.override(language):
            broadcast_figures = figures.latest(broadcast)
        assert (broadcast_figures.stopped, broadcast_figures.unreachable) == (1, 0)
    pages = [
        unescaped_text(reader.get(address("loyalty.notificationdelivery", "change", row.pk)))
        for reader in (manager, german)
    ]
    assert [("Cancelled." in page, "Abgebrochen." in page) for page in pages] == [(True, False), (False, True)]


def test_form_counts_members_and_previews_texts_while_editing(sender, manager, customer):
    opted_out = factories.customer(sender)
    preferences.opt_out(opted_out.pk, sender.pk, channel="email", topics=["offers"], at=timezone.now())
    data = form_data(
        sender, channels=["email", "sms"], subject_de="Frühling", body_de="{greeting}", shown_language="de"
    )

    answer = manager.post(address(LABEL, "read"), data).json()

    assert answer["audience"]["total"] == "It reaches 1 of 2 members."
    assert answer["audience"]["lines"][:2] == ["E-mail: 1", "SMS is not set up: see the notification settings."]
    assert answer["draft"]["mail"]["subject"] == "Frühling"
    assert answer["draft"]["mail"]["text"].startswith("Guten Tag Ada,")
    assert answer["draft"]["language"] == "German"
    invalid = manager.post(address(LABEL, "read"), {**data, "body_de": "{points}"}).json()
    assert invalid["draft"]["problem"].startswith("{points} is not available here.")


def test_empty_form_counts_members(sender, manager, customer):
    answer = manager.post(address(LABEL, "read"), {"brand": sender.pk}).json()

    assert answer["draft"] is None
    assert answer["audience"]["total"] == "It reaches 0 of 1 member."


@pytest.mark.parametrize("brand_id", ["", "0", "x", "9" * 30])
def test_count_for_an_invalid_brand_is_not_found(manager, brand_id):
    assert manager.post(address(LABEL, "read"), {"brand": brand_id}).status_code == 404


def test_members_of_another_brand_are_not_counted(sender, manager):
    foreign = factories.brand()
    segment = factories.segment(foreign)
    factories.customer(foreign)
    evaluate.evaluate(segment.pk, at=timezone.now())

    assert manager.post(address(LABEL, "read"), {"brand": foreign.pk}).status_code == 404
    answer = manager.post(address(LABEL, "read"), {**form_data(sender), "segment": segment.pk}).json()
    assert answer["audience"]["total"] == "It reaches 0 of 0 members."


def test_broadcast_is_previewed_and_a_test_send_goes_to_its_requester(sender, manager, box, work):
    texts = {"en": {"subject": "News", "body": "{greeting} {new_balance}", "short_text": ""}}
    broadcast = factories.broadcast(sender, texts=texts)
    preview = f"{address(LABEL, 'preview', broadcast.pk)}?channel=email&language=en"

    assert "4,800" in text(manager.get(preview))
    assert manager.post(preview, {"channel": "email", "language": "en"}).url == preview
    work()

    assert box.recipients == ["max@example.com"]
    assert box.mails[0]["Subject"] == "News"
    delivery = NotificationDelivery.objects.get()
    assert (delivery.template, delivery.status, delivery.notification.is_test) == ("NOTIFY_BROADCAST", "sent", True)
    assert manager.get(preview.replace("en", "de")).status_code == 404
    assert manager.get(preview.replace("email", "sms")).status_code == 404


def test_test_send_of_a_deleted_draft_is_not_delivered(sender, manager, box, work):
    broadcast = factories.broadcast(sender)
    manager.post(address(LABEL, "preview", broadcast.pk), {"channel": "email", "language": "en"})
    manager.post(address(LABEL, "delete", broadcast.pk), {"post": "yes"})
    work()

    assert box.recipients == []
    assert NotificationDelivery.objects.get().last_error == "The broadcast was deleted."


@pytest.mark.parametrize("role", ["support", "printer"])
def test_support_and_printers_cannot_access_broadcasts(sender, role):
    broadcast = factories.broadcast(sender)
    client = browser(staff(sender, role=role))

    assert client.get(address(LABEL)).status_code == 403
    for name in ("send", "back_to_draft", "cancel", "preview"):
        assert client.post(address(LABEL, name, broadcast.pk)).status_code in {403, 404}
    assert Broadcast.objects.get().state == "draft"


def test_anonymous_user_cannot_send_a_broadcast(sender):
    broadcast = factories.broadcast(sender)

    assert Client().post(address(LABEL, "send", broadcast.pk)).status_code == 302
    assert Broadcast.objects.get().state == "draft"


def test_page_explains_that_notifications_are_switched_off(sender, manager, customer):
    broadcast = factories.broadcast(sender)
    NotificationSettings.objects.update(is_active=False)

    assert "Notifications are switched off" in unescaped_text(manager.get(address(LABEL, "send", broadcast.pk)))
    assert "Switch them on" in unescaped_text(manager.post(address(LABEL, "send", broadcast.pk)))
    assert Broadcast.objects.get().state == "draft"


def test_query_count_of_the_list_is_bounded(sender, manager, django_assert_max_num_queries):
    for _ in range(25):
        factories.broadcast(sender, factories.segment(sender, name=f"S{_}"))
    manager.get(address(LABEL))

    with django_assert_max_num_queries(16):
        manager.get(address(LABEL))
