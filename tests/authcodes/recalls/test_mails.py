"""Mails of a recall: previewed and tested before they are sent, in the customer's language, and complete."""

import html
import re

import pytest
from django.utils import timezone

from authcodes.models.batches import Recall
from authcodes.recalls import notifications, recalls, scopes
from authcodes.recalls import preview as recall_preview
from brands.tenants import contacts
from jobs import runner
from jobs.models import Job
from loyalty.models.notifications import Language, Template
from loyalty.notifications import catalogue
from tests.authcodes.recalls.conftest import TEXTS, scan_codes, send_notifications
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def author(brand):
    return staff(brand)


@pytest.fixture
def post_form(author):
    """Posts the form of a new recall, or of a recall's notifications; returns the answer and its form."""
    client = browser(author)

    def post(url, **data):
        answer = client.post(url, data)
        context = answer.context or {}
        return answer, context.get("form")

    return post


def test_mail_must_be_previewed_and_the_number_confirmed_before_sending(brand, batch, post_form, box, work):
    customers = [factories.customer(brand, first_name="Ben") for _ in range(3)]
    scan_codes(batch, *customers)
    scan(batch.codes.first())  # a guest
    url = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    form_data = {"batch": batch.pk, **TEXTS, "notify_customers": "on"}

    preview_answer, page_form = post_form(url, **form_data)
    wrong_answer, _form = post_form(url, **form_data, previewed=page_form.data["previewed"], confirmation="2")
    assert not Recall.objects.exists()
    assert "Subject" in text(preview_answer)
    assert "Stop using it." in text(preview_answer)
    assert re.search(r"Customers</dt><dd>3<.*By E-mail</dt><dd>3<", text(preview_answer), re.DOTALL)
    assert "Enter 3 to send" in text(wrong_answer)

    answer, _form = post_form(url, **form_data, previewed=page_form.data["previewed"], confirmation="3")

    recall = Recall.objects.get()
    assert answer["Location"] == address("authcodes.recall", "change", recall.pk)
    runner.run(Job.objects.get(kind="notify-recall").pk)
    work()
    assert sorted(box.recipients) == sorted(customer.email for customer in customers)


def test_texts_changed_after_the_preview_are_previewed_again(brand, customer, batch, post_form):
    scan_codes(batch, customer)
    url = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    form_data = {"batch": batch.pk, **TEXTS, "notify_customers": "on"}
    _answer, page_form = post_form(url, **form_data)

    second_answer, _form = post_form(
        url, **{**form_data, "message": "Burn it."}, previewed=page_form.data["previewed"], confirmation="1"
    )

    assert not Recall.objects.exists()
    assert "Burn it." in text(second_answer)


def test_recall_without_notifications_needs_no_confirmation(brand, customer, batch, post_form):
    scan_codes(batch, customer)

    post_form(f"{address('authcodes.recall', 'add')}?batch={batch.pk}", batch=batch.pk, **TEXTS)

    assert (Recall.objects.count(), Job.objects.count()) == (1, 0)


def test_notifying_later_is_confirmed_and_redirects_to_the_recall(brand, customer, batch, post_form):
    scan_codes(batch, customer)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    url = address("authcodes.recall", "notify", recall.pk)
    preview_answer, page_form = post_form(url)
    assert not Job.objects.exists()

    answer, _form = post_form(url, previewed=page_form.initial["previewed"], confirmation="1")

    assert "Stop using it." in text(preview_answer)
    assert answer["Location"] == address("authcodes.recall", "change", recall.pk)
    assert Job.objects.filter(kind="notify-recall").count() == 1


def test_outdated_confirmation_of_later_notifications_gets_a_message_and_can_be_repeated(
    brand, customer, batch, post_form
):
    scan_codes(batch, customer)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    url = address("authcodes.recall", "notify", recall.pk)
    _answer, page_form = post_form(url)
    scan_codes(batch, factories.customer(brand))

    answer, form = post_form(url, previewed=page_form.initial["previewed"], confirmation="1")
    assert "Check the preview, then enter the number of customers." in text(answer)
    assert form["confirmation"].value() == ""
    assert not Job.objects.exists()

    post_form(url, previewed=form["previewed"].value(), confirmation="2")
    assert Job.objects.filter(kind="notify-recall").count() == 1


@pytest.mark.parametrize(
    ("contact", "link"),
    [
        ("+41 800 000 000", "tel:+41800000000"),
        ("Call 0800/123 456 (free)", "tel:0800123456"),
        ("recall@example.com", "mailto:recall@example.com"),
        ("Shop, recall@example.com or 0800 123456", "mailto:recall@example.com"),
        ("call us", ""),
        ("javascript:alert(1)", ""),
        ('"><script>@x', ""),
        ("+" * 5000, ""),
        ("1 " * 5000, "tel:111111111111111"),
    ],
)
def test_contact_becomes_a_link(contact, link):
    assert contacts.link(contact) == link


def test_contact_in_the_mail_is_a_link(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    send_notifications(recalls.recall_batch(batch=batch, at=timezone.now(), **{**TEXTS, "contact": "+41 800 000 000"}))
    work()

    plain, html = (part.get_content() for part in box.mails[0].iter_parts())
    assert "Contact: +41 800 000 000" in plain
    assert 'href="tel:+41800000000"' in html


def test_english_mails_continue_with_a_capital_letter_after_the_greeting():
    templates = {name: each for name, each in catalogue.language_file("en").items() if name.startswith("NOTIFY")}

    assert templates.keys() == set(Template.values) - {Template.BROADCAST}
    for name, channels in templates.items():
        assert re.match(r"\{greeting\}\n\n[A-Z]", channels["email"]["body"]), name


def test_preview_shows_the_mail_in_every_language(brand, customer, batch, post_form):
    scan_codes(batch, customer)
    url = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"

    answer, page_form = post_form(url, batch=batch.pk, **TEXTS, notify_customers="on")

    subjects = {each.language: each.mail.subject for each in page_form.preview.languages}
    assert subjects["en"] == f"Product recall: {batch.product.title}"
    assert len(set(subjects.values())) == 3
    assert all(subject in html.unescape(text(answer)) for subject in subjects.values())
    assert [each.direction for each in page_form.preview.languages] == ["ltr", "ltr", "rtl"]


def test_test_mail_is_sent_to_its_author_and_recalls_nothing(brand, customer, author, batch, post_form, box, work):
    scan_codes(batch, customer)
    url = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    form_data = {"batch": batch.pk, **TEXTS, "notify_customers": "on"}
    _first, page_form = post_form(url, **form_data)

    confirmation = {"previewed": page_form.data["previewed"], "confirmation": "1"}
    answer, _form = post_form(url, **form_data, **confirmation, send_test="de")

    work()
    [mail] = box.mails
    assert box.recipients == [mail["To"]] == [author.email]
    assert f"Produktrückruf: {batch.product.title}" in mail["Subject"]
    assert "Stop using it." in text(answer)
    assert "Test sent to" in text(answer)
    assert (Recall.objects.count(), Job.objects.count()) == (0, 0)


def test_test_mail_can_be_sent_for_a_recall_without_notifications(author, batch, post_form, box, work):
    post_form(f"{address('authcodes.recall', 'add')}?batch={batch.pk}", batch=batch.pk, **TEXTS, send_test="en")

    work()
    assert box.recipients == [author.email]
    assert (Recall.objects.count(), Job.objects.count()) == (0, 0)


def test_test_mails_are_rate_limited(customer, batch, post_form, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "test_message": "1/hour"}
    scan_codes(batch, customer)
    url = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    form_data = {"batch": batch.pk, **TEXTS, "notify_customers": "on", "send_test": "en"}

    answers = [text(post_form(url, **form_data)[0]) for _time in range(2)]

    assert ["Test sent to" in answer for answer in answers] == [True, False]


LONG = " ".join(f"word{number}" for number in range(700))[:4999] + "."


def test_mail_contains_a_long_message_in_full(brand, customer, batch, box, work):
    assert len(LONG) == 5000
    scan_codes(batch, customer)
    send_notifications(recalls.recall_batch(batch=batch, at=timezone.now(), **{**TEXTS, "message": LONG}))
    work()

    plain, rich = (part.get_content() for part in box.mails[0].iter_parts())
    assert LONG in " ".join(plain.split())
    assert LONG in " ".join(rich.split())


@pytest.mark.parametrize("language", Language.values)
@pytest.mark.parametrize("channel", ["sms", "push"])
def test_short_messages_are_cut_after_a_word_and_link_to_the_full_text(brand, batch, channel, language):
    recall = Recall(brand=brand, **{**TEXTS, "message": LONG})
    scope = scopes.of_batches([batch])

    text = recall_preview.composed(brand, channel, language, notifications.notification_of(recall, scope).values).text

    [shortened] = re.findall(r"word0 .*\bword\d+\u2026", text)
    assert shortened.removesuffix("\u2026").split()[-1] in LONG.split()
    assert text.count("/notices/acknowledge/") == 1
    assert len(text) < 800
    short_recall = Recall(brand=brand, **TEXTS)
    values = notifications.notification_of(short_recall, scope).values
    assert "\u2026" not in recall_preview.composed(brand, channel, language, values).text
