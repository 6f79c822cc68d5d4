"""Reminders of a recall: to whom it did not reach or who has not confirmed, and a list of whom to call."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from authcodes.recalls import notifications, recalls
from jobs import runner
from jobs.models import Job
from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.notifications import batching, preferences
from tests.authcodes.recalls.conftest import figures, recall_it, scanned
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


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

    assert "1 customer was notified and has not confirmed" in text(client.get(its))
    assert client.post(its, {"reason": "Nobody came back"}).status_code == 302
    again = client.post(its, {"reason": "Once more"})

    assert "reminded today" in text(again)
    assert Job.objects.filter(parameters__has_key="reminder").count() == 1


def test_where_all_have_confirmed_there_is_nobody_to_remind(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)
    work()
    client, its = browser(staff(brand)), address("authcodes.recall", "remind", recall.pk)
    acknowledge(box.mails[-1])

    for answer in (client.get(its, follow=True), client.post(its, {"reason": "x"}, follow=True)):
        assert "There is nobody to remind." in text(answer)
    assert not Job.objects.filter(parameters__has_key="reminder").exists()


def test_where_nobody_was_notified_there_is_nobody_to_remind(brand, batch):
    recall = recall_it(batch)

    answer = browser(staff(brand)).get(address("authcodes.recall", "remind", recall.pk), follow=True)

    assert "There is nobody to remind." in text(answer)


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
