"""From points to what customers read: by each channel, once, as they wish, and never again where nobody takes it."""

import threading
from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.people import User
from brands.tenants import quotas
from core.redis import client
from events import messages, worker, worker_signals
from events.models import Event
from loyalty.models.messages.addresses import SuppressedAddress
from loyalty.models.notifications import (
    Notification,
    NotificationDelivery,
    NotificationSettings,
    Template,
)
from loyalty.notifications import delivery, devices, preferences, suppression
from tests.support import factories
from tests.support.fakes.fake_http import reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)

SMS_NUMBER = "+4930123456"


def prefer(customer, brand, **wanted):
    preferences.change(customer.pk, brand.pk, at=timezone.now(), **wanted)


def device(customer, brand, token="t0ken"):
    return devices.register(user_id=customer.pk, brand_id=brand.pk, token=token, platform="ios", at=timezone.now())


def log():
    return list(NotificationDelivery.objects.order_by("id").values_list("channel", "status"))


# --- E-mail ----------------------------------------------------------------------------------------------------------


def test_points_are_told_by_email(brand, customer, own, box, notify, work):
    notify(customer, points_earned=1250, new_balance=4800)

    work()

    [mail] = box.mails
    assert box.recipients == [customer.email]
    assert mail["Subject"] == f"New points at {brand.name}: 1,250"
    assert mail["From"] == f"{own.sender_name} <{own.sender_address}>"
    assert mail["Reply-To"] == brand.support_email
    assert mail.get_content_type() == "multipart/alternative"
    text, html = mail.iter_parts()
    assert (text.get_content_type(), html.get_content_type()) == ("text/plain", "text/html")
    assert "Your balance: 4,800" in text.get_content()
    row = NotificationDelivery.objects.get()
    assert (row.status, row.attempts, row.provider_id, row.address) == ("sent", 1, mail["Message-ID"], "")
    assert row.masked_address == f"{customer.email[0]}•••@example.com"
    assert mail["Message-ID"] == f"<{row.delivery_id}@{brand.slug}.example.com>"


def test_mails_above_the_quota_wait_until_tomorrow_and_passwords_do_not(brand, customer, own, box, notify, settings):
    settings.QUOTAS = {**settings.QUOTAS, "mails": 1}
    for key in client.client().scan_iter("quota:mails:*"):  # of other runs, whose brands had the same ids
        client.client().delete(key)

    def deliver():
        for lane in [messages.POINTS, *messages.slow_lanes()] * 2:
            worker.drain(lane=lane)

    notify(customer)
    deliver()
    notify(customer)
    deliver()

    assert log() == [("email", "sent"), ("email", "queued")]
    due = Event.objects.get(detail_type="send-email", status="pending").due_at
    assert abs(due - quotas.begin_of_day(timezone.now()) - timedelta(days=1)) < timedelta(seconds=5)
    NotificationDelivery.objects.filter(status="queued").update(template=Template.PASSWORD_RESET)
    Event.objects.pending().update(due_at=timezone.now())
    deliver()
    assert NotificationDelivery.objects.get(template=Template.PASSWORD_RESET).attempts == 1


def test_a_brand_that_sends_nothing_ignores_it(brand, customer, box, notify, work):
    notify(customer)
    work()
    NotificationSettings.objects.create(brand=brand, is_active=False)
    notify(customer)
    work()

    assert (box.mails, log()) == ([], [])
    assert set(Event.objects.values_list("status", flat=True)) == {"ignored"}


def test_points_close_together_become_one_notice_with_their_sum(brand, customer, own, box, notify, work):
    notify(customer, points_earned=10, new_balance=10)
    notify(customer, points_earned=5, new_balance=15)
    notify(customer, points_earned=0.5, new_balance=15.5)

    work()

    [mail] = box.mails
    assert "15.50" in mail["Subject"]
    assert "Your balance: 15.50" in mail.get_body(("plain",)).get_content()
    notification = Notification.objects.get()
    told = Event.objects.filter(detail_type="notify").order_by("id")
    assert [covered["event"] for covered in notification.covers] == [str(event.event_id) for event in told]
    assert [covered["points_earned"] for covered in notification.covers] == [10, 5, 0.5]


def test_the_balance_is_the_newest_ones_however_they_come(brand, customer, own, box, notify, work):
    notify(customer, points_earned=5, new_balance=15, transaction_id="200")
    notify(customer, points_earned=10, new_balance=10, transaction_id="100")

    work()

    assert "Your balance: 15\r\n" in box.mails[0].get_body(("plain",)).get_content()


def test_what_is_earned_after_a_notice_is_told_in_the_next(brand, customer, own, box, notify, work):
    notify(customer)
    work()
    notify(customer)
    work()

    assert len(box.mails) == 2
    assert len({mail["Message-ID"] for mail in box.mails}) == 2


def test_a_notice_waits_for_more(brand, customer, own, box, notify):
    NotificationSettings.objects.filter(pk=own.pk).update(merge_seconds=60)
    notify(customer)

    from events import worker

    worker.drain(lane="notices")

    waiting = Event.objects.get(detail_type="send-notice")
    assert waiting.status == "pending"
    assert 58 < (waiting.due_at - timezone.now()).total_seconds() <= 60


def test_two_customers_get_two_notices(brand, customer, own, box, notify, work):
    notify(customer)
    notify(factories.customer(brand))

    work()

    assert len(box.mails) == 2


def test_a_mail_can_be_stopped_with_one_click(brand, customer, own, box, notify, work):
    notify(customer)
    work()

    [mail] = box.mails
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail["List-Unsubscribe"].strip().startswith(f"<http://{brand.hostnames.get()}/notices/opt-out/")


def test_who_opted_out_is_told_nothing_and_the_log_says_so(brand, customer, own, box, notify, work):
    prefer(customer, brand, switches={"points": {"email": False}})
    notify(customer)

    work()

    assert (box.mails, log()) == ([], [("email", "suppressed")])
    assert "has opted out" in NotificationDelivery.objects.get().last_error


def test_an_opt_out_between_two_attempts_counts(brand, customer, own, box, notify, work):
    box.answers.append("451 later")
    notify(customer)
    from events import worker

    for lane in ("notices", "notices", "email"):
        Event.objects.pending().update(due_at=timezone.now())
        worker.drain(lane=lane)
    prefer(customer, brand, switches={"points": {"email": False}})

    work()

    assert (box.mails, log()) == ([], [("email", "failed")])


@pytest.mark.parametrize(
    ("first_name", "sender", "brand_name"),
    [
        ("Eve\r\nBcc: all@example.com", "Acme\nBcc: all@example.com", "Acme\r\n\r\n<script>"),
        ("\u2028A\x1b", "", "A\tB"),
    ],
)
def test_names_cannot_smuggle_in_headers(brand, customer, own, box, notify, work, first_name, sender, brand_name):
    type(customer).objects.filter(pk=customer.pk).update(first_name=first_name)
    type(brand).objects.filter(pk=brand.pk).update(name=brand_name)
    NotificationSettings.objects.filter(pk=own.pk).update(sender_name=sender)
    notify(customer)

    work()

    [mail] = box.mails
    assert "Bcc" not in mail
    assert box.recipients == [customer.email]
    assert mail["From"].addresses[0].addr_spec == own.sender_address


def test_what_people_write_is_no_markup_in_html(brand, customer, own, box, notify, work):
    attack = '<img src=x onerror="alert(1)">{points_earned}'
    type(customer).objects.filter(pk=customer.pk).update(first_name=attack)
    notify(customer, note=attack)

    work()

    html = box.mails[0].get_body(("html",)).get_content()
    assert "<img" not in html
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;{points_earned}" in html


# --- Bounces and retries ---------------------------------------------------------------------------------------------


def test_an_address_that_does_not_exist_is_written_to_once(brand, customer, own, box, notify, work):
    box.refusals[customer.email] = "550 5.1.1 no such user"
    notify(customer)
    work()
    notify(customer)
    work()

    assert log() == [("email", "bounced"), ("email", "suppressed")]
    assert NotificationDelivery.objects.first().attempts == 0
    stop = SuppressedAddress.objects.get()
    assert "550" in stop.reason
    assert customer.email not in f"{stop.masked_address}{stop.digest}{stop.reason}"


def test_staff_let_an_address_try_again(brand, customer, own, box, notify, work):
    box.refusals[customer.email] = "550 no"
    notify(customer)
    work()
    box.refusals.clear()

    suppression.let_try_again(address=SuppressedAddress.objects.get())
    notify(customer)
    work()

    assert len(box.mails) == 1


@pytest.mark.parametrize("email", ["=?utf-8?q?=0abcc?=@example.com", "=?utf-8?q??=@example.com"])
def test_an_address_that_no_mail_can_be_written_to_fails_for_good(brand, customer, own, box, notify, work, email):
    User.objects.filter(pk=customer.pk).update(email=email)
    notify(customer)

    work()

    row = NotificationDelivery.objects.get()
    assert (row.status, row.last_error) == ("failed", "One of the e-mail's addresses is not valid.")
    assert not Event.objects.pending().exists()
    assert box.mails == []


@pytest.mark.parametrize("said", ["550 5.7.1 looks like spam", "552 5.2.2 mailbox full", "554 5.4.4 no route"])
def test_what_is_not_the_addresss_fault_does_not_stop_it(brand, customer, own, box, notify, work, said):
    box.refusals[customer.email] = said
    notify(customer)

    work()

    assert log() == [("email", "failed")]
    assert not SuppressedAddress.objects.exists()


def test_a_mail_that_is_refused_for_now_comes_later_with_the_same_id(brand, customer, own, box, notify, work):
    box.answers += ["451 4.3.0 busy", "451 4.3.0 busy"]
    notify(customer)

    work_until_done(work)

    row = NotificationDelivery.objects.get()
    assert (row.status, row.attempts, len(box.mails)) == ("sent", 3, 1)
    assert box.mails[0]["Message-ID"] == row.provider_id


def work_until_done(work):
    for _ in range(8):
        work()
        if not Event.objects.pending().exists():
            return
    raise AssertionError("it never ends")


def test_a_mail_server_that_is_away_costs_no_mail(brand, customer, own, box, notify, work, settings):
    notify(customer)
    settings.EMAIL_PORT = 1
    work()
    assert (log(), "Refused" in NotificationDelivery.objects.get().last_error) == ([("email", "queued")], True)

    settings.EMAIL_PORT = box.port
    work_until_done(work)

    assert (log(), len(box.mails)) == ([("email", "sent")], 1)


def test_what_cannot_be_sent_for_a_day_has_failed(brand, customer, own, notify, work, settings):
    settings.EMAIL_BACKEND, settings.EMAIL_PORT = "django.core.mail.backends.smtp.EmailBackend", 1
    settings.EMAIL_HOST = "127.0.0.1"
    notify(customer)
    work()
    Event.objects.pending().update(give_up_at=timezone.now())

    work()

    assert log() == [("email", "failed")]
    assert not Event.objects.pending().exists()


def test_a_refused_mail_stops_nothing_but_itself(brand, customer, own, box, notify, work):
    box.answers.append("554 5.6.0 not like this")
    notify(customer)
    work()
    notify(customer)
    work()

    assert log() == [("email", "failed"), ("email", "sent")]


# --- SMS -------------------------------------------------------------------------------------------------------------


def test_points_are_told_by_sms_to_who_gave_a_number(brand, customer, own, box, with_sms, notify, work):
    prefer(customer, brand, phone=SMS_NUMBER, language="de")
    notify(customer, points_earned=10, new_balance=20)
    notify(factories.customer(brand))

    work()

    assert with_sms.messages == [
        {"To": SMS_NUMBER, "From": "+15005550006", "Body": f"{brand.name}: neue Punkte 10, Stand 20."}
    ]
    row = NotificationDelivery.objects.get(channel="sms")
    assert (row.status, row.masked_address, row.provider_id) == ("sent", "+49•••56", f"SM{1:032d}")


@pytest.mark.parametrize("code", [21211, 21610, 21614])
def test_a_number_that_takes_nothing_is_written_to_once(brand, customer, own, box, with_sms, notify, work, code):
    prefer(customer, brand, phone=SMS_NUMBER)
    with_sms.answers.append((400, {"code": code, "message": "no"}, {}))
    notify(customer)
    work()
    notify(customer)
    work()

    assert [status for channel, status in log() if channel == "sms"] == ["bounced", "suppressed"]
    assert with_sms.messages == []
    prefer(customer, brand, phone="+4930654321")
    notify(customer)
    work()
    assert with_sms.messages[0]["To"] == "+4930654321"


@pytest.mark.parametrize("answer", [(503, {}, {}), (429, {"code": 20429}, {"Retry-After": "7"}), (500, "?", {})])
def test_a_busy_sms_service_is_asked_again(brand, customer, own, box, with_sms, notify, work, answer):
    prefer(customer, brand, phone=SMS_NUMBER)
    with_sms.answers.append(answer)
    notify(customer)

    work()
    waiting = Event.objects.get(detail_type="send-sms")
    if answer[2]:
        assert 5 < (waiting.due_at - timezone.now()).total_seconds() <= 7
    work_until_done(work)

    assert len(with_sms.messages) == 1
    assert NotificationDelivery.objects.get(channel="sms").attempts == 2


def test_a_wrong_sms_key_waits_until_it_is_mended(brand, customer, own, box, with_sms, notify, work):
    prefer(customer, brand, phone=SMS_NUMBER)
    key = NotificationSettings.objects.get().twilio_auth_token
    mend = NotificationSettings.objects.get()
    mend.twilio_auth_token = "wrong"
    mend.save()
    notify(customer)
    work()
    row = NotificationDelivery.objects.get(channel="sms")
    assert (row.status, "401" in row.last_error, key in row.last_error) == ("queued", True, False)

    mend.twilio_auth_token = key
    mend.save()
    work_until_done(work)

    assert len(with_sms.messages) == 1


@pytest.mark.parametrize(("status", "ends"), [(201, "sent"), (400, "failed"), (503, "queued")])
def test_words_that_postgresql_does_not_take_send_nothing_twice(
    brand, customer, own, box, with_sms, notify, work, status, ends
):
    prefer(customer, brand, phone=SMS_NUMBER)
    with_sms.answers.append((status, {"sid": "S\0\ud800", "code": 1, "message": "no\0\ud800"}, {}))
    notify(customer)

    work()

    row = NotificationDelivery.objects.get(channel="sms")
    assert (row.status, "\0" in row.last_error) == (ends, False)
    assert "ValueError" not in Event.objects.get(detail_type="send-sms").last_error
    if ends != "queued":
        work()
        assert with_sms.messages == []


@pytest.fixture
def rest():
    reset_breakers()
    yield
    reset_breakers()


def test_a_brands_slow_service_leaves_senders_for_others(brand, customer, own, box, with_sms, rest, notify, work):
    prefer(customer, brand, phone=SMS_NUMBER)
    row = NotificationDelivery(brand=brand, channel="sms")
    breaker = delivery.breaker_of(row)
    breaker.took(5)
    notify(customer)

    with ExitStack() as waiting:
        for _ in range(delivery.MAX_SLOW):
            waiting.enter_context(worker_signals.acquire_slot(lane=breaker.name, count=delivery.MAX_SLOW))
        work()

        held = NotificationDelivery.objects.get(channel="sms")
        assert (held.status, held.attempts, with_sms.messages) == ("queued", 0, [])
        assert delivery.breaker_of(NotificationDelivery(brand=factories.brand(), channel="sms")).is_slow() is False
    work()

    assert len(with_sms.messages) == 1


# --- Push ------------------------------------------------------------------------------------------------------------


def test_points_are_told_on_every_device(brand, customer, own, box, with_push, notify, work):
    for token in ("one", "two"):
        device(customer, brand, token)
    notify(customer, points_earned=10)

    work()

    assert sorted(message["token"] for message in with_push.messages) == ["one", "two"]
    assert with_push.grants == 1
    message = with_push.messages[0]
    assert message["notification"]["title"] == brand.name
    row = NotificationDelivery.objects.get(delivery_id=message["data"]["notice_id"])
    assert message["apns"]["headers"]["apns-collapse-id"] == str(row.delivery_id)
    assert row.provider_id.startswith("projects/acme/messages/")


def test_a_device_that_is_gone_gets_nothing_more(brand, customer, own, box, with_push, notify, work):
    device(customer, brand)
    gone = {"error": {"status": "NOT_FOUND", "message": "x", "details": [{"errorCode": "UNREGISTERED"}]}}
    with_push.answers.append((404, gone, {}))
    notify(customer)
    work()
    notify(customer)
    work()

    assert [status for channel, status in log() if channel == "push"] == ["bounced"]
    assert devices.alive(user_id=customer.pk, brand_id=brand.pk) == []
    assert not SuppressedAddress.objects.exists()


def test_an_access_token_that_was_withdrawn_is_asked_for_again(brand, customer, own, box, with_push, notify, work):
    device(customer, brand)
    with_push.answers.append((401, {"error": {"status": "UNAUTHENTICATED"}}, {}))
    notify(customer)

    work_until_done(work)

    assert (len(with_push.messages), with_push.grants) == (1, 2)


def test_channels_fail_alone(brand, customer, own, box, with_sms, with_push, notify, work):
    prefer(customer, brand, phone=SMS_NUMBER)
    device(customer, brand)
    with_sms.answers += [(503, {}, {})] * 50
    notify(customer)

    work()

    assert sorted(log()) == [("email", "sent"), ("push", "sent"), ("sms", "queued")]


# --- Other notices, and what is not one ------------------------------------------------------------------------------


def test_a_new_level_and_a_reward_are_told_beside_the_points(brand, customer, own, box, notify, work):
    reward = {"milestone_id": 5, "reward_name": "A mug", "campaign_name": "Scan and win"}
    notify(customer, level_updated=True, current_level="Gold", rewards=[reward])
    notify(customer, rewards=[reward])

    work()

    subjects = sorted(mail["Subject"] for mail in box.mails)
    assert subjects == ["A reward is waiting for you: A mug", f"New points at {brand.name}: 20", "You are Gold now"]


def test_points_that_expire_are_announced(brand, customer, own, box, notify, work):
    prefer(customer, brand, language="de")
    notify(customer, template="NOTIFY_POINTS_EXPIRING", points=320, expires_on="2027-01-31")

    work()

    assert box.mails[0]["Subject"] == "Punkte verfallen am 31. Januar 2027"


@pytest.mark.parametrize("payload", [{"template": "NOTIFY_X"}, {"template": None}, {"template": "NOTIFY_RECALL"}])
def test_what_is_no_notice_is_refused(brand, customer, own, notify, work, payload):
    notify(customer, **payload)

    work()

    assert Event.objects.get().status == "refused"


def test_who_is_switched_off_is_told_nothing(brand, customer, own, box, notify, work):
    type(customer).objects.filter(pk=customer.pk).update(is_active=False)
    notify(customer)

    work()

    assert (box.mails, log()) == ([], [("email", "suppressed")])


def test_accruals_at_once_lose_no_point(brand, customer, own, box, notify, work):
    from django.db import connection

    from events import worker

    for _ in range(40):
        notify(customer, points_earned=1)

    def drain():
        try:
            worker.drain(lane="notices")
        finally:
            connection.close()

    threads = [threading.Thread(target=drain) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work()

    covered = [line for notification in Notification.objects.all() for line in notification.covers]
    assert len({line["event"] for line in covered}) == len(covered) == 40
    assert sum(notification.payload["points_earned"] for notification in Notification.objects.all()) == 40
