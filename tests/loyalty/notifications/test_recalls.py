"""A recall reaches everybody who scanned the batch: once, by e-mail at least, and the page says who knows."""

import html
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.models.batches import Recall
from authcodes.recalls import notifications, recalls, scope
from authcodes.recalls import preview as recall_preview
from brands.models.people import User
from brands.tenants import contacts
from events.models import Event
from jobs import runner
from jobs.models import Job
from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.models.notifications import Language, Notification, NotificationDelivery, NotificationSettings
from loyalty.notifications import batching, catalogue, preferences
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db(transaction=True)
TEXTS = {"recall_id": "R-7", "contact": "call us", "message": "Stop using it.", "reason": "Glass"}


@pytest.fixture
def batch(brand):
    return factories.batch(brand, quantity=5, scan_limit=None)


def scanned(batch, *customers):
    for number, customer in enumerate(customers):
        scan(batch.codes.all()[number % 5], user=customer)


def recall_it(batch):
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    tell(recall)
    return recall


def tell(recall):
    job = notifications.start(recall=recall, by=None)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def figures(recall):
    found = notifications.progress_of(recall).figures
    return found.notified, found.delivered, found.failed, found.acknowledged


def test_everybody_who_scanned_is_told_once(brand, batch, box, work):
    customers = [factories.customer(brand) for _ in range(3)]
    scanned(batch, *customers, *customers)
    scan(factories.code(brand), user=factories.customer(brand))
    scan(batch.codes.first())  # a guest

    recall_it(batch)
    work()

    assert sorted(box.recipients) == sorted(customer.email for customer in customers)
    mail = box.mails[0]
    assert mail["Subject"] == f"Product recall: {batch.product.title}"
    assert "List-Unsubscribe" not in mail
    assert all(words in mail.get_body(("plain",)).get_content() for words in ("R-7", "call us", "Stop using it."))


def test_a_customer_of_another_brand_is_theirs_to_tell(brand, batch, box, work):
    scan(batch.codes.first(), user=factories.customer(factories.brand()), outcome="error", reason="other_brand")

    recall_it(batch)
    work()

    assert not Notification.objects.exists()


def test_no_opt_out_and_no_switch_keeps_a_recall_back(brand, customer, batch, box, work):
    NotificationSettings.objects.create(brand=brand, is_active=False, email_on=False)
    topics = ["points", "offers", "safety"]
    preferences.opt_out(customer.pk, brand.pk, channel="email", topics=topics, at=timezone.now())
    scanned(batch, customer)

    recall_it(batch)
    work()

    assert box.recipients == [customer.email]


def test_an_address_that_takes_nothing_is_counted_as_not_reached(brand, customer, batch, box, work):
    box.refusals[customer.email] = "550 no"
    scanned(batch, customer, factories.customer(brand))

    recall = recall_it(batch)
    assert figures(recall) == (2, 0, 0, 0)
    work()

    assert figures(recall) == (2, 1, 1, 0)


def test_who_confirms_is_counted(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)
    work()

    link = re.search(r"http://[^/]+(/notices/acknowledge/\S+)", box.mails[0].get_body(("plain",)).get_content())
    Client().get(link[1])
    assert figures(recall) == (1, 1, 0, 0)
    Client().post(link[1])

    assert figures(recall) == (1, 1, 0, 1)


def test_telling_again_reaches_only_who_was_not_told(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)
    late = factories.customer(brand)
    scanned(batch, late)

    job = tell(recall)
    work()

    assert sorted(box.recipients) == sorted([customer.email, late.email])
    assert "1 customers notified; 1 had been notified before." in job.log


def test_a_job_that_died_goes_on_where_it_was(brand, batch, box, work, monkeypatch):
    customers = [factories.customer(brand) for _ in range(7)]
    scanned(batch, *customers)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    monkeypatch.setattr(notifications, "AT_ONCE", 3)
    batching.notify_many(  # what a worker did before it was killed
        brand_id=brand.pk,
        user_ids=sorted(customer.pk for customer in customers)[:3],
        notification=notifications.notification_of(recall, scope.of_recall(recall)),
        at=timezone.now(),
    )

    tell(recall)
    work()

    assert sorted(box.recipients) == sorted(customer.email for customer in customers)
    assert Event.objects.filter(detail_type="send-notice").count() == 7


def test_a_job_that_is_cancelled_when_all_are_told_is_done(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)

    def cancelling(execute, sql, *rest):
        if "INSERT" in sql:
            Job.objects.exclude(cancel_requested=True).update(cancel_requested=True)
        return execute(sql, *rest)

    job = notifications.start(recall=recall, by=None)
    with connection.execute_wrapper(cancelling):
        runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.cancel_requested, job.done) == ("done", True, 1)


def test_a_lifted_recall_is_told_to_nobody_more(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)

    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(brand))
    work()
    job = tell(recall)

    assert (box.mails, NotificationDelivery.objects.count()) == ([], 0)
    assert "withdrawn" in job.log


def test_a_mail_that_waits_for_another_try_is_not_sent_after_the_withdrawal(brand, customer, batch, box, work):
    box.refusals[customer.email] = "450 later"
    scanned(batch, customer)
    recall = recall_it(batch)
    work()
    assert NotificationDelivery.objects.get().status == "queued"

    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(brand))
    del box.refusals[customer.email]
    work()

    assert NotificationDelivery.objects.get().status == "suppressed"
    assert box.mails == []


def test_the_form_tells_customers_unless_told_not_to(brand, customer, batch):
    client, its = browser(staff(brand)), f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    assert 'name="notify_customers"' in text(client.get(its))

    client.post(its, {"batch": batch.pk, **TEXTS, "notify_customers": "on"})

    assert Job.objects.get(kind="notify-recall").parameters == {"recall": Recall.objects.get().pk}


@pytest.fixture
def form(brand, batch):
    """Sends the form of a new recall, or a recall's page of telling, with what a page shows hidden in it."""
    client = browser(staff(brand))

    def send(its, **told):
        answer = client.post(its, told)
        context = answer.context or {}
        return answer, context.get("form")

    return send


def test_nothing_is_sent_before_somebody_has_seen_the_mail_and_typed_the_number(brand, batch, form, box, work):
    customers = [factories.customer(brand, first_name="Ben") for _ in range(3)]
    scanned(batch, *customers)
    scan(batch.codes.first())  # a guest
    its = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    told = {"batch": batch.pk, **TEXTS, "notify_customers": "on"}

    first, shown = form(its, **told)
    wrong, _form = form(its, **told, previewed=shown.data["previewed"], confirmation="2")
    assert not Recall.objects.exists()
    assert "Subject" in text(first)
    assert "Stop using it." in text(first)
    assert re.search(r"Customers</dt><dd>3<.*By E-mail</dt><dd>3<", text(first), re.DOTALL)
    assert "Type 3" in text(wrong)

    right, _form = form(its, **told, previewed=shown.data["previewed"], confirmation="3")

    recall = Recall.objects.get()
    assert right["Location"] == address("authcodes.recall", "change", recall.pk)
    runner.run(Job.objects.get(kind="notify-recall").pk)
    work()
    assert sorted(box.recipients) == sorted(customer.email for customer in customers)


def test_words_that_changed_after_the_look_are_shown_again(brand, customer, batch, form):
    scanned(batch, customer)
    its = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    told = {"batch": batch.pk, **TEXTS, "notify_customers": "on"}
    _answer, shown = form(its, **told)

    again, _form = form(its, **{**told, "message": "Burn it."}, previewed=shown.data["previewed"], confirmation="1")

    assert not Recall.objects.exists()
    assert "Burn it." in text(again)


def test_a_recall_that_tells_nobody_asks_for_no_number(brand, customer, batch, form):
    scanned(batch, customer)

    form(f"{address('authcodes.recall', 'add')}?batch={batch.pk}", batch=batch.pk, **TEXTS)

    assert Recall.objects.exists()


def test_telling_later_is_confirmed_too_and_leads_to_the_recall(brand, customer, batch, form):
    scanned(batch, customer)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    its = address("authcodes.recall", "tell", recall.pk)
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
    tell(recalls.recall_batch(batch=batch, at=timezone.now(), **{**TEXTS, "contact": "+41 800 000 000"}))
    work()

    plain, html = (part.get_content() for part in box.mails[0].iter_parts())
    assert "Contact: +41 800 000 000" in plain
    assert 'href="tel:+41800000000"' in html


def test_an_english_mail_goes_on_with_a_capital_letter():
    for template, channels in catalogue.language_file("en").items():
        body = channels.get("email", {}).get("body", "") if template.startswith("NOTIFY") else ""
        assert not body or body.removeprefix("{greeting}\n\n")[0].isupper(), template


def test_the_recalls_page_shows_how_many_know(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)
    work()
    client = browser(staff(brand))

    said = text(client.get(address("authcodes.recall", "change", recall.pk)))
    log = client.get(address("loyalty.notificationdelivery"), {"notification__key": notifications.key_of(recall)})

    assert re.search(r"Delivered</dt><dd>1<", said)
    assert [row.user for row in log.context["cl"].result_list] == [customer]


def test_only_who_may_recall_may_tell(brand, customer, batch):
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    its = f"/admin/authcodes/recall/{recall.pk}/tell/"

    assert browser(staff(brand, role="support")).post(its).status_code == 403
    assert browser(staff(factories.brand())).post(its).status_code == 404
    assert browser(staff(brand)).get(its).status_code == 200
    assert browser(staff(brand)).post(its).status_code == 302
    assert Job.objects.filter(kind="notify-recall").count() == 1


def test_a_hundred_customers_cost_as_many_statements_as_one(brand):
    def statements(number):
        customers = [factories.customer(brand) for _ in range(number)]
        news = batching.NotificationRequest("NOTIFY_RECALL", f"recall:{number}", {})
        with CaptureQueriesContext(connection) as asked:
            ids = [customer.pk for customer in customers]
            batching.notify_many(brand_id=brand.pk, user_ids=ids, notification=news, at=timezone.now())
        return len(asked)

    assert statements(1) == statements(100)


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
    told = {"batch": batch.pk, **TEXTS, "notify_customers": "on"}
    _first, shown = form(its, **told)

    sure = {"previewed": shown.data["previewed"], "confirmation": "1"}
    answer, _form = form(its, **told, **sure, send_test="de")

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


def test_the_page_counts_on_until_everybody_is_reached(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)
    client = browser(staff(brand))
    page = address("authcodes.recall", "change", recall.pk)

    def counted():
        [row] = client.get(f"{address('authcodes.recall')}live/?id={recall.pk}&column=notified").json()["rows"]
        return row["columns"]["notified"]

    assert "data-live-row" in text(client.get(page))
    assert "data-live-row" in counted()
    work()
    assert "data-live-row" not in counted()
    assert "data-live-row" not in text(client.get(page))


def test_somebody_who_tries_too_often_must_wait(customer, batch, form, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "test_message": "1/hour"}
    scanned(batch, customer)
    its = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    told = {"batch": batch.pk, **TEXTS, "notify_customers": "on", "send_test": "en"}

    answers = [text(form(its, **told)[0]) for _time in range(2)]

    assert ["Test sent to" in answer for answer in answers] == [True, False]


def acknowledge(mail):
    link = re.search(r"http://[^/]+(/notices/acknowledge/\S+)", mail.get_body(("plain",)).get_content())
    Client().post(link[1])


def test_a_reminder_goes_to_who_has_not_confirmed_and_confirming_it_confirms_the_recall(brand, batch, box, work):
    read, unread = factories.customer(brand), factories.customer(brand)
    scanned(batch, read, unread)
    recall = recall_it(batch)
    work()
    acknowledge(next(mail for mail in box.mails if mail["To"] == read.email))

    job = notifications.start_reminder(recall=recall, by=None, at=timezone.now())
    runner.run(job.pk)
    work()

    assert box.recipients[2:] == [unread.email]
    assert figures(recall) == (2, 2, 0, 1)
    acknowledge(box.mails[-1])
    assert figures(recall) == (2, 2, 0, 2)
    assert notifications.not_read(recall) == []


def test_whom_only_the_reminder_reached_is_reached(brand, customer, batch, box, work):
    box.refusals[customer.email] = "550 no"
    scanned(batch, customer)
    recall = recall_it(batch)
    work()
    assert figures(recall) == (1, 0, 1, 0)

    del box.refusals[customer.email]
    SuppressedAddress.objects.all().delete()
    runner.run(notifications.start_reminder(recall=recall, by=None, at=timezone.now()).pk)
    work()

    assert figures(recall) == (1, 1, 0, 0)


def test_withdrawing_stops_a_reminder_too(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)
    work()
    runner.run(notifications.start_reminder(recall=recall, by=None, at=timezone.now()).pk)

    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(brand))
    work()

    assert len(box.mails) == 1


def test_the_reminders_button_asks_first_and_says_when_it_was_sent_today(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)
    work()
    client, its = browser(staff(brand)), address("authcodes.recall", "remind", recall.pk)
    assert its in text(client.get(address("authcodes.recall", "change", recall.pk)))

    assert "1 customers were notified and have not confirmed" in text(client.get(its))
    assert client.post(its, {"reason": "Nobody came back"}).status_code == 302
    again = client.post(its, {"reason": "Once more"})

    assert "reminded today" in text(again)
    assert Job.objects.filter(parameters__has_key="reminder").count() == 1


def test_whom_nobody_reached_is_listed_with_a_phone_number_and_exported(brand, customer, batch, box, work):
    preferences.change(customer.pk, brand.pk, phone="+41791234567", at=timezone.now())
    other = factories.customer(brand)
    box.refusals[customer.email] = "550 no"
    scanned(batch, customer, other)
    recall = recall_it(batch)
    work()
    client, page = browser(staff(brand)), address("authcodes.recall", "change", recall.pk)

    shown = client.get(page)
    answer = client.post(address("authcodes.recall", "to-call", recall.pk), {"format": "csv"})

    assert [(row["email"], row["phone"]) for row in shown.context["to_call"]] == [(customer.email, "+41791234567")]
    job = Job.objects.get(kind="export-to-call")
    assert answer["Location"] == address("jobs.job", "change", job.pk)
    runner.run(job.pk)
    job.refresh_from_db()
    with job.result.open() as file:
        lines = file.read().decode("utf-8-sig").splitlines()
    assert lines[0].split(",")[:4] == ["first_name", "last_name", "phone", "customer_email"]
    assert len(lines) == 2
    assert "+41791234567" in lines[1]
    assert customer.email in lines[1]


def test_who_may_not_see_customers_sees_no_list_of_whom_to_call(brand, customer, batch, box, work):
    box.refusals[customer.email] = "550 no"
    scanned(batch, customer)
    recall = recall_it(batch)
    work()
    client = browser(staff(brand, role="printer"))

    assert customer.email not in text(client.get(address("authcodes.recall", "change", recall.pk)))
    assert client.post(address("authcodes.recall", "to-call", recall.pk), {"format": "csv"}).status_code == 403
    foreign = browser(staff(factories.brand()))
    assert foreign.post(address("authcodes.recall", "to-call", recall.pk), {"format": "csv"}).status_code == 404
    assert foreign.post(address("authcodes.recall", "remind", recall.pk), {"reason": "x"}).status_code == 404


def test_who_has_read_it_since_a_reminder_began_is_not_reminded(brand, batch, box, work, monkeypatch):
    """The reminder's list is of its start: a portion looks again."""
    customers = sorted((factories.customer(brand) for _ in range(3)), key=lambda each: each.pk)
    scanned(batch, *customers)
    recall = recall_it(batch)
    work()
    first = {mail["To"]: mail for mail in box.mails}
    monkeypatch.setattr(notifications, "AT_ONCE", 1)
    real = batching.notify_many

    def reading(**parameters):
        if parameters["user_ids"] == [customers[0].pk]:
            acknowledge(first[customers[1].email])  # while the first portion is on its way
        return real(**parameters)

    monkeypatch.setattr(batching, "notify_many", reading)
    job = notifications.start_reminder(recall=recall, by=None, at=timezone.now())
    runner.run(job.pk)
    work()

    assert box.recipients[3:] == [customers[0].email, customers[2].email]
    job.refresh_from_db()
    assert "2 customers notified" in job.log


def test_a_reminder_that_waited_for_a_day_does_not_follow_another_at_once(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)
    work()
    late = notifications.start_reminder(recall=recall, by=None, at=timezone.now() - timedelta(days=1))
    today = notifications.start_reminder(recall=recall, by=None, at=timezone.now())

    for job in (today, late):
        runner.run(job.pk)
    work()

    assert box.recipients == [customer.email] * 2


LONG = " ".join(f"word{number}" for number in range(700))[:4999] + "."


def test_a_mail_has_all_of_a_long_message(brand, customer, batch, box, work):
    assert len(LONG) == 5000
    scanned(batch, customer)
    tell(recalls.recall_batch(batch=batch, at=timezone.now(), **{**TEXTS, "message": LONG}))
    work()

    plain, rich = (part.get_content() for part in box.mails[0].iter_parts())
    assert LONG in " ".join(plain.split())
    assert LONG in " ".join(rich.split())


@pytest.mark.parametrize("language", Language.values)
@pytest.mark.parametrize("channel", ["sms", "push"])
def test_shorter_messages_end_after_a_word_and_lead_to_the_rest(brand, batch, channel, language):
    recall = Recall(brand=brand, **{**TEXTS, "message": LONG})
    its = scope.of_batches([batch])

    text = recall_preview.composed(brand, channel, language, notifications.notification_of(recall, its).values).text

    [cut] = re.findall(r"word0 .*\bword\d+\u2026", text)
    assert cut.removesuffix("\u2026").split()[-1] in LONG.split()
    assert text.count("/notices/acknowledge/") == 1
    assert len(text) < 800
    short = Recall(brand=brand, **TEXTS)
    values = notifications.notification_of(short, its).values
    assert "\u2026" not in recall_preview.composed(brand, channel, language, values).text
