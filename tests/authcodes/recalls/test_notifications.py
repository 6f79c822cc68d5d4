"""A recall reaches everybody who scanned the batch: once, by e-mail at least, and the page says who knows."""

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
from tests.authcodes.recalls.conftest import TEXTS, figures, recall_it, scanned, send_notifications
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


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
    assert all(
        expected_text in mail.get_body(("plain",)).get_content()
        for expected_text in ("R-7", "call us", "Stop using it.")
    )


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

    job = send_notifications(recall)
    work()

    assert sorted(box.recipients) == sorted([customer.email, late.email])
    assert "1 customer notified; 1 had been notified before." in job.log


def test_a_job_that_died_goes_on_where_it_was(brand, batch, box, work, monkeypatch):
    customers = [factories.customer(brand) for _ in range(7)]
    scanned(batch, *customers)
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    monkeypatch.setattr(notifications, "AT_ONCE", 3)
    batching.notify_many(  # what a worker did before it was killed
        brand_id=brand.pk,
        user_ids=sorted(customer.pk for customer in customers)[:3],
        notification=notifications.notification_of(recall, scopes.of_recall(recall)),
        at=timezone.now(),
    )

    send_notifications(recall)
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
    job = send_notifications(recall)

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


def test_the_recalls_page_shows_how_many_know(brand, customer, batch, box, work):
    scanned(batch, customer)
    recall = recall_it(batch)
    work()
    client = browser(staff(brand))

    page_text = text(client.get(address("authcodes.recall", "change", recall.pk)))
    log = client.get(address("loyalty.notificationdelivery"), {"notification__key": notifications.key_of(recall)})

    assert re.search(r"Delivered</dt><dd>1<", page_text)
    assert [row.user for row in log.context["cl"].result_list] == [customer]


def test_only_who_may_recall_may_tell(brand, customer, batch):
    recall = recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)
    its = f"/admin/authcodes/recall/{recall.pk}/notify/"

    assert browser(staff(brand, role="support")).post(its).status_code == 403
    assert browser(staff(factories.brand())).post(its).status_code == 404
    assert browser(staff(brand)).get(its).status_code == 200
    assert browser(staff(brand)).post(its).status_code == 302
    assert Job.objects.filter(kind="notify-recall").count() == 1


def test_a_hundred_customers_cost_as_many_statements_as_one(brand):
    def statements(number):
        customers = [factories.customer(brand) for _ in range(number)]
        news = batching.NotificationRequest("NOTIFY_RECALL", f"recall:{number}", {})
        with CaptureQueriesContext(connection) as queries:
            ids = [customer.pk for customer in customers]
            batching.notify_many(brand_id=brand.pk, user_ids=ids, notification=news, at=timezone.now())
        return len(queries)

    assert statements(1) == statements(100)


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
