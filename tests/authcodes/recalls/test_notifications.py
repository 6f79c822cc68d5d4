"""Notifications of a recall: once to every customer who scanned the batch, by e-mail at least, with figures."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.models.batches import Recall
from authcodes.recalls import notifications, recalls, scopes
from events.models import Event
from jobs import runner
from jobs.models import Job
from loyalty.models.notifications import Notification, NotificationDelivery, NotificationSettings
from loyalty.notifications import batching, preferences
from tests.authcodes.recalls.conftest import TEXTS, figures, recall_and_notify, scan_codes, send_notifications
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_customer_who_scanned_is_notified_once(brand, batch, box, work):
    customers = [factories.customer(brand) for _ in range(3)]
    scan_codes(batch, *customers, *customers)
    scan(factories.code(brand), user=factories.customer(brand))
    scan(batch.codes.first())  # a guest

    recall_and_notify(batch)
    work()

    assert sorted(box.recipients) == sorted(customer.email for customer in customers)
    mail = box.mails[0]
    assert mail["Subject"] == f"Product recall: {batch.product.title}"
    assert "List-Unsubscribe" not in mail
    assert all(
        expected_text in mail.get_body(("plain",)).get_content()
        for expected_text in ("R-7", "call us", "Stop using it.")
    )


def test_customers_of_another_brand_are_not_notified(brand, batch, box, work):
    scan(batch.codes.first(), user=factories.customer(factories.brand()), outcome="error", reason="other_brand")

    recall_and_notify(batch)
    work()

    assert not Notification.objects.exists()


def test_recall_is_sent_despite_opt_out_and_disabled_notifications(brand, customer, batch, box, work):
    NotificationSettings.objects.create(brand=brand, is_active=False, email_on=False)
    topics = ["points", "offers", "safety"]
    preferences.opt_out(customer.pk, brand.pk, channel="email", topics=topics, at=timezone.now())
    scan_codes(batch, customer)

    recall_and_notify(batch)
    work()

    assert box.recipients == [customer.email]


def test_rejected_mail_is_counted_as_failed(brand, customer, batch, box, work):
    box.rejections[customer.email] = "550 no"
    scan_codes(batch, customer, factories.customer(brand))

    recall = recall_and_notify(batch)
    assert figures(recall) == (2, 0, 0, 0)
    work()

    assert figures(recall) == (2, 1, 1, 0)


def test_confirmation_by_a_customer_is_counted_after_post(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()

    link = re.search(r"http://[^/]+(/notices/acknowledge/\S+)", box.mails[0].get_body(("plain",)).get_content())
    Client().get(link[1])
    assert figures(recall) == (1, 1, 0, 0)
    Client().post(link[1])

    assert figures(recall) == (1, 1, 0, 1)


def test_notifying_again_reaches_only_customers_not_yet_notified(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    late_customer = factories.customer(brand)
    scan_codes(batch, late_customer)

    job = send_notifications(recall)
    work()

    assert sorted(box.recipients) == sorted([customer.email, late_customer.email])
    assert "1 customer notified; 1 had been notified before." in job.log


def test_job_continues_after_the_portion_sent_before_it_was_killed(brand, batch, box, work, monkeypatch):
    customers = [factories.customer(brand) for _ in range(7)]
    scan_codes(batch, *customers)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    monkeypatch.setattr(notifications, "AT_ONCE", 3)
    batching.notify_many(  # the portion that a worker sent before it was killed
        brand_id=brand.pk,
        user_ids=sorted(customer.pk for customer in customers)[:3],
        notification=notifications.notification_of(recall, scopes.of_recall(recall)),
        at=timezone.now(),
    )

    send_notifications(recall)
    work()

    assert sorted(box.recipients) == sorted(customer.email for customer in customers)
    assert Event.objects.filter(detail_type="send-notice").count() == 7


def test_cancel_request_after_the_last_notification_has_no_effect(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)

    def request_cancel(execute, sql, *args):
        if "INSERT" in sql:
            Job.objects.exclude(cancel_requested=True).update(cancel_requested=True)
        return execute(sql, *args)

    job = notifications.start(recall=recall, by=None)
    with connection.execute_wrapper(request_cancel):
        runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.cancel_requested, job.done) == ("done", True, 1)


def test_withdrawn_recall_sends_no_more_notifications(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)

    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(brand))
    work()
    job = send_notifications(recall)

    assert (box.mails, NotificationDelivery.objects.count()) == ([], 0)
    assert "withdrawn" in job.log


def test_mail_waiting_for_a_retry_is_not_sent_after_the_withdrawal(brand, customer, batch, box, work):
    box.rejections[customer.email] = "450 later"
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()
    assert NotificationDelivery.objects.get().status == "queued"

    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(brand))
    del box.rejections[customer.email]
    work()

    assert NotificationDelivery.objects.get().status == "suppressed"
    assert box.mails == []


@pytest.mark.parametrize("choice", [{"notify_customers": "on"}, {}], ids=["notify", "do not notify"])
def test_form_starts_the_notification_of_customers_only_if_chosen(brand, batch, choice):
    client, url = browser(staff(brand)), f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    assert 'name="notify_customers"' in text(client.get(url))

    client.post(url, {"batch": batch.pk, **TEXTS, **choice})

    recall = Recall.objects.get()
    jobs = Job.objects.filter(kind="notify-recall").values_list("parameters", flat=True)
    assert list(jobs) == ([{"recall": recall.pk}] if choice else [])


def test_page_of_a_recall_shows_the_number_of_delivered_mails(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    work()
    client = browser(staff(brand))

    page_text = text(client.get(address("authcodes.recall", "change", recall.pk)))
    log = client.get(address("loyalty.notificationdelivery"), {"notification__key": notifications.key_of(recall)})

    assert re.search(r"Delivered</dt><dd>1<", page_text)
    assert [row.user for row in log.context["cl"].result_list] == [customer]


def test_notifying_requires_permission_to_recall(brand, customer, batch):
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    url = f"/admin/authcodes/recall/{recall.pk}/notify/"

    assert browser(staff(brand, role="support")).post(url).status_code == 403
    assert browser(staff(factories.brand())).post(url).status_code == 404
    assert browser(staff(brand)).get(url).status_code == 200
    assert browser(staff(brand)).post(url).status_code == 302
    assert Job.objects.filter(kind="notify-recall").count() == 1


def test_query_count_does_not_grow_with_the_customers(brand):
    def statements(number):
        customers = [factories.customer(brand) for _ in range(number)]
        notification = batching.NotificationRequest("NOTIFY_RECALL", f"recall:{number}", {})
        with CaptureQueriesContext(connection) as queries:
            ids = [customer.pk for customer in customers]
            batching.notify_many(brand_id=brand.pk, user_ids=ids, notification=notification, at=timezone.now())
        return len(queries)

    assert statements(1) == statements(100)


def test_page_refreshes_its_figures_until_every_mail_is_delivered(brand, customer, batch, box, work):
    scan_codes(batch, customer)
    recall = recall_and_notify(batch)
    client = browser(staff(brand))
    page = address("authcodes.recall", "change", recall.pk)

    def notified_column():
        [row] = client.get(f"{address('authcodes.recall')}live/?id={recall.pk}&column=notified").json()["rows"]
        return row["columns"]["notified"]

    assert "data-live-row" in text(client.get(page))
    assert "data-live-row" in notified_column()
    work()
    assert "data-live-row" not in notified_column()
    assert "data-live-row" not in text(client.get(page))
