"""Reminders of a recall to customers who have not confirmed it, and the list of customers to call."""

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
from tests.authcodes.recalls.conftest import figures, recall_and_notify, scan_codes
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


def acknowledge(mail):
    link = re.search(r"http://[^/]+(/notices/acknowledge/\S+)", mail.get_body(("plain",)).get_content())
    Client().post(link[1])


def test_reminder_is_sent_to_unconfirmed_customers_and_can_confirm_the_recall(brand, batch, box, work):
    confirmed, unconfirmed = factories.customer(brand), factories.customer(brand)
    scan_codes(batch, confirmed, unconfirmed)
    recall = recall_and_notify(batch)
    work()
    acknowledge(next(mail for mail in box.mails if mail["To"] == confirmed.email))

    job = notifications.start_reminder(recall=recall, by=None, at=timezone.now())
    runner.run(job.pk)
    work()

    assert box.recipients[2:] == [unconfirmed.email]
    assert figures(recall) == (2, 2, 0, 1)
    acknowledge(box.mails[-1])
    assert figures(recall) == (2, 2, 0, 2)
    assert notifications.not_read(recall) == []


def test_customer_reached_only_by_the_reminder_counts_as_delivered(brand, customer, batch, box, work):
    box.rejections[customer.email] = "550 no"
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()
    assert figures(recall) == (1, 0, 1, 0)

    del box.rejections[customer.email]
    SuppressedAddress.objects.all().delete()
    runner.run(notifications.start_reminder(recall=recall, by=None, at=timezone.now()).pk)
    work()

    assert figures(recall) == (1, 1, 0, 0)


def test_withdrawal_stops_a_reminder(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()
    runner.run(notifications.start_reminder(recall=recall, by=None, at=timezone.now()).pk)

    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(brand))
    work()

    assert len(box.mails) == 1


def test_reminder_is_confirmed_first_and_only_sent_once_a_day(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()
    client, url = browser(staff(brand)), address("authcodes.recall", "remind", recall.pk)
    assert url in text(client.get(address("authcodes.recall", "change", recall.pk)))

    assert "1 customer was notified and has not confirmed" in text(client.get(url))
    assert client.post(url, {"reason": "Nobody came back"}).status_code == 302
    second_answer = client.post(url, {"reason": "Once more"})

    assert "reminded today" in text(second_answer)
    assert Job.objects.filter(parameters__has_key="reminder").count() == 1


@pytest.mark.parametrize("role", ["printer", "support"])
def test_reminding_requires_permission_to_recall(brand, customer, batch, box, work, role):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()
    client, url = browser(staff(brand, role=role)), address("authcodes.recall", "remind", recall.pk)

    assert url not in text(client.get(address("authcodes.recall", "change", recall.pk)))
    assert client.get(url).status_code == 403
    assert client.post(url, {"reason": "Nobody came back"}).status_code == 403
    assert not Job.objects.filter(parameters__has_key="reminder").exists()


def test_no_reminder_is_sent_if_all_customers_have_confirmed(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()
    client, url = browser(staff(brand)), address("authcodes.recall", "remind", recall.pk)
    acknowledge(box.mails[-1])

    for answer in (client.get(url, follow=True), client.post(url, {"reason": "x"}, follow=True)):
        assert "There is nobody to remind." in text(answer)
    assert not Job.objects.filter(parameters__has_key="reminder").exists()


def test_no_reminder_is_sent_if_no_customer_was_notified(brand, batch):
    recall = recall_and_notify(batch)

    answer = browser(staff(brand)).get(address("authcodes.recall", "remind", recall.pk), follow=True)

    assert "There is nobody to remind." in text(answer)


def test_unreached_customers_are_listed_with_phone_numbers_and_exported(brand, customer, batch, box, work):
    preferences.change(customer.pk, brand.pk, phone="+41791234567", at=timezone.now())
    other_customer = factories.customer(brand)
    box.rejections[customer.email] = "550 no"
    scan_codes(batch, customer, other_customer)
    recall = recall_and_notify(batch)
    work()
    client, url = browser(staff(brand)), address("authcodes.recall", "change", recall.pk)

    page = client.get(url)
    answer = client.post(address("authcodes.recall", "to-call", recall.pk), {"format": "csv"})

    assert [(row["email"], row["phone"]) for row in page.context["to_call"]] == [(customer.email, "+41791234567")]
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


def test_list_of_customers_to_call_requires_permission_to_see_customers(brand, customer, batch, box, work):
    box.rejections[customer.email] = "550 no"
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()
    client = browser(staff(brand, role="printer"))

    assert customer.email not in text(client.get(address("authcodes.recall", "change", recall.pk)))
    assert client.post(address("authcodes.recall", "to-call", recall.pk), {"format": "csv"}).status_code == 403
    other_brand_browser = browser(staff(factories.brand()))
    assert (
        other_brand_browser.post(address("authcodes.recall", "to-call", recall.pk), {"format": "csv"}).status_code
        == 404
    )
    assert (
        other_brand_browser.post(address("authcodes.recall", "remind", recall.pk), {"reason": "x"}).status_code == 404
    )


def test_customer_who_confirms_during_the_reminder_is_not_reminded(brand, batch, box, work, monkeypatch):
    """The list of customers is made when the job starts; each portion checks it again."""
    customers = sorted((factories.customer(brand) for _ in range(3)), key=lambda each: each.pk)
    scan_codes(batch, *customers)
    recall = recall_and_notify(batch)
    work()
    mails = {mail["To"]: mail for mail in box.mails}
    monkeypatch.setattr(notifications, "AT_ONCE", 1)
    real_notify_many = batching.notify_many

    def confirm_during_first_portion(**parameters):
        if parameters["user_ids"] == [customers[0].pk]:
            acknowledge(mails[customers[1].email])  # while the first portion is being sent
        return real_notify_many(**parameters)

    monkeypatch.setattr(batching, "notify_many", confirm_during_first_portion)
    job = notifications.start_reminder(recall=recall, by=None, at=timezone.now())
    runner.run(job.pk)
    work()

    assert box.recipients[3:] == [customers[0].email, customers[2].email]
    job.refresh_from_db()
    assert "2 customers notified" in job.log


def test_delayed_reminder_is_not_sent_after_a_newer_one(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()
    older = notifications.start_reminder(recall=recall, by=None, at=timezone.now() - timedelta(days=1))
    newer = notifications.start_reminder(recall=recall, by=None, at=timezone.now())

    for job in (newer, older):
        runner.run(job.pk)
    work()

    assert box.recipients == [customer.email] * 2
