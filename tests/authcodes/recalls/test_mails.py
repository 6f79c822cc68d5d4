"""What a recall says to customers: seen and tried before it goes, in their language, and whole."""

import html
import re

import pytest
from django.utils import timezone

from authcodes.models.batches import Recall
from authcodes.recalls import notifications, recalls, scopes
from authcodes.recalls import preview as recall_preview
from brands.models.people import User
from brands.tenants import contacts
from jobs import runner
from jobs.models import Job
from loyalty.models.notifications import Language
from loyalty.notifications import catalogue
from tests.authcodes.recalls.conftest import TEXTS, scanned, send_notifications
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def form(brand, batch):
    """Sends the form of a new recall, or a recall's page of telling, with what a page shows hidden in it."""
    client = browser(staff(brand))

    def send(its, **data):
        answer = client.post(its, data)
        context = answer.context or {}
        return answer, context.get("form")

    return send


def test_nothing_is_sent_before_somebody_has_seen_the_mail_and_typed_the_number(brand, batch, form, box, work):
    customers = [factories.customer(brand, first_name="Ben") for _ in range(3)]
    scanned(batch, *customers)
    scan(batch.codes.first())  # a guest
    its = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    form_data = {"batch": batch.pk, **TEXTS, "notify_customers": "on"}

    first, shown = form(its, **form_data)
    wrong, _form = form(its, **form_data, previewed=shown.data["previewed"], confirmation="2")
    assert not Recall.objects.exists()
    assert "Subject" in text(first)
    assert "Stop using it." in text(first)
    assert re.search(r"Customers</dt><dd>3<.*By E-mail</dt><dd>3<", text(first), re.DOTALL)
    assert "Enter 3 to send" in text(wrong)

    right, _form = form(its, **form_data, previewed=shown.data["previewed"], confirmation="3")

    recall = Recall.objects.get()
    assert right["Location"] == address("authcodes.recall", "change", recall.pk)
    runner.run(Job.objects.get(kind="notify-recall").pk)
    work()
    assert sorted(box.recipients) == sorted(customer.email for customer in customers)


def test_words_that_changed_after_the_look_are_shown_again(brand, customer, batch, form):
    scanned(batch, customer)
    its = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    form_data = {"batch": batch.pk, **TEXTS, "notify_customers": "on"}
    _answer, shown = form(its, **form_data)

    again, _form = form(
        its, **{**form_data, "message": "Burn it."}, previewed=shown.data["previewed"], confirmation="1"
    )

    assert not Recall.objects.exists()
    assert "Burn it." in text(again)


def test_a_recall_that_tells_nobody_asks_for_no_number(brand, customer, batch, form):
    scanned(batch, customer)

    form(f"{address('authcodes.recall', 'add')}?batch={batch.pk}", batch=batch.pk, **TEXTS)

    assert Recall.objects.exists()


def test_telling_later_is_confirmed_too_and_leads_to_the_recall(brand, customer, batch, form):
    scanned(batch, customer)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    its = address("authcodes.recall", "notify", recall.pk)
    first, shown = form(its)
    assert not Job.objects.exists()

    right, _form = form(its, previewed=shown.initial["previewed"], confirmation="1")

    assert "Stop using it." in text(first)
    assert right["Location"] == address("authcodes.recall", "change", recall.pk)
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
def test_the_contact_is_a_link(contact, link):
    assert contacts.link(contact) == link


def test_the_mails_contact_is_a_link(brand, customer, batch, box, work):
    scanned(batch, customer)
    send_notifications(recalls.recall_batch(batch=batch, at=timezone.now(), **{**TEXTS, "contact": "+41 800 000 000"}))
    work()

    plain, html = (part.get_content() for part in box.mails[0].iter_parts())
    assert "Contact: +41 800 000 000" in plain
    assert 'href="tel:+41800000000"' in html


def test_an_english_mail_goes_on_with_a_capital_letter():
    for template, channels in catalogue.language_file("en").items():
        body = channels.get("email", {}).get("body", "") if template.startswith("NOTIFY") else ""
        assert not body or body.removeprefix("{greeting}\n\n")[0].isupper(), template


def test_the_preview_shows_what_each_customer_reads_in_their_language(brand, customer, batch, form):
    scanned(batch, customer)
    its = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"

    answer, shown = form(its, batch=batch.pk, **TEXTS, notify_customers="on")

    subjects = {each.language: each.mail.subject for each in shown.preview.languages}
    assert subjects["en"] == f"Product recall: {batch.product.title}"
    assert len(set(subjects.values())) == 3
    assert all(subject in html.unescape(text(answer)) for subject in subjects.values())
    assert [each.direction for each in shown.preview.languages] == ["ltr", "ltr", "rtl"]


def test_a_test_goes_to_whoever_writes_the_recall_and_recalls_nothing(brand, customer, batch, form, box, work):
    scanned(batch, customer)
    its = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    form_data = {"batch": batch.pk, **TEXTS, "notify_customers": "on"}
    _first, shown = form(its, **form_data)

    sure = {"previewed": shown.data["previewed"], "confirmation": "1"}
    answer, _form = form(its, **form_data, **sure, send_test="de")

    work()
    [mail] = box.mails
    assert mail["To"] == staff(brand).email or mail["To"].endswith("@example.com")
    assert mail["To"] != customer.email
    assert "Stop using it." in text(answer)
    assert "Test sent to" in text(answer)
    assert (Recall.objects.count(), Job.objects.count()) == (0, 0)


def test_a_test_of_a_recall_that_nobody_hears_of_goes_to_its_writer_and_recalls_nothing(batch, form, box, work):
    form(f"{address('authcodes.recall', 'add')}?batch={batch.pk}", batch=batch.pk, **TEXTS, send_test="en")

    work()
    [mail] = box.mails
    assert User.objects.get(email=mail["To"]).is_staff
    assert (Recall.objects.count(), Job.objects.count()) == (0, 0)


def test_somebody_who_tries_too_often_must_wait(customer, batch, form, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "test_message": "1/hour"}
    scanned(batch, customer)
    its = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    form_data = {"batch": batch.pk, **TEXTS, "notify_customers": "on", "send_test": "en"}

    answers = [text(form(its, **form_data)[0]) for _time in range(2)]

    assert ["Test sent to" in answer for answer in answers] == [True, False]


LONG = " ".join(f"word{number}" for number in range(700))[:4999] + "."


def test_a_mail_has_all_of_a_long_message(brand, customer, batch, box, work):
    assert len(LONG) == 5000
    scanned(batch, customer)
    send_notifications(recalls.recall_batch(batch=batch, at=timezone.now(), **{**TEXTS, "message": LONG}))
    work()

    plain, rich = (part.get_content() for part in box.mails[0].iter_parts())
    assert LONG in " ".join(plain.split())
    assert LONG in " ".join(rich.split())


@pytest.mark.parametrize("language", Language.values)
@pytest.mark.parametrize("channel", ["sms", "push"])
def test_shorter_messages_end_after_a_word_and_lead_to_the_rest(brand, batch, channel, language):
    recall = Recall(brand=brand, **{**TEXTS, "message": LONG})
    scope = scopes.of_batches([batch])

    text = recall_preview.composed(brand, channel, language, notifications.notification_of(recall, scope).values).text

    [cut] = re.findall(r"word0 .*\bword\d+\u2026", text)
    assert cut.removesuffix("\u2026").split()[-1] in LONG.split()
    assert text.count("/notices/acknowledge/") == 1
    assert len(text) < 800
    short = Recall(brand=brand, **TEXTS)
    values = notifications.notification_of(short, scope).values
    assert "\u2026" not in recall_preview.composed(brand, channel, language, values).text
