"""Webhook events: signed, sent once to each subscribed endpoint, and not published without subscribers."""

from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone
from standardwebhooks.webhooks import WebhookVerificationError

from authcodes import errors
from authcodes.recalls import recalls
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.audit_log import AuditContext
from core.http import webhook_signatures
from events import messages, publishing
from events.models import Event
from loyalty.integrations import signing_secrets, webhook_endpoints, webhook_events
from loyalty.members import erasure
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.webhooks import WebhookAttempt, WebhookDelivery, WebhookType
from loyalty.points import adjustments
from tests.loyalty.integrations.webhooks import data_of, endpoint, hasten, send
from tests.support import factories
from tests.support.fakes.fake_http import Reply, receiver, reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    reset_breakers()


@pytest.fixture
def shop():
    """The brand's own server."""
    with receiver() as server:
        yield server


def scan(code, customer=None, **fields):
    user_id = customer.pk if customer else None
    return scanning.scan(scanned=str(code), context=ScanContext(at=timezone.now(), user_id=user_id, **fields))


webhook_data = data_of


def test_earned_points_are_sent_to_a_subscribed_endpoint(brand, customer, shop, deliver_events):
    hook = endpoint(brand, shop, types=[WebhookType.POINTS_EARNED])
    code = factories.code(brand)
    scanned = scan(code, customer)
    deliver_events()
    send()

    [call] = shop.calls
    content = call.verified(hook.secret)
    entry = LoyaltyTransaction.objects.get()
    assert (content["type"], content["timestamp"][-1]) == ("points.earned", "Z")
    assert content["data"] == {
        "user_id": customer.pk,
        "points_earned": 10,
        "new_balance": 10,
        "transaction_id": str(entry.pk),
        "reason_ids": [code.code],
        "note": entry.note,
        "current_level": "Bronze",
        "lifetime_points": 10,
        "cause": str(scanned.scan_id),
    }
    assert call.headers["content-type"] == "application/json"


def test_campaign_progress_without_points_sends_no_webhook(brand, customer, shop, deliver_events):
    factories.campaign(brand, type="login")
    endpoint(brand, shop)
    fields = {"brand_id": brand.pk, "user_id": customer.pk}
    event = messages.NewEvent(kind="log-user-login", payload={"type": "login"}, arguments=fields)
    publishing.publish(messages=[event], brand_id=brand.pk, at=timezone.now())
    deliver_events()
    send()

    assert LoyaltyTransaction.objects.get().points_earned == 0
    assert shop.calls == []


def test_reached_level_is_sent_in_addition_to_the_points(brand, customer, shop, deliver_events):
    factories.level(brand, "Silver", 10)
    endpoint(brand, shop)
    scan(factories.code(brand), customer)
    deliver_events()
    send()

    [level] = webhook_data(shop, "level.reached")
    assert (level["user_id"], level["current_level"], level["lifetime_points"]) == (customer.pk, "Silver", 10)
    assert len(webhook_data(shop, "points.earned")) == 1


def test_points_earned_is_sent_for_added_but_not_for_deducted_points(brand, customer, shop):
    endpoint(brand, shop)
    account = factories.account(customer, brand)
    for points in (Decimal(20), Decimal(-5)):
        adjustments.adjust(
            account=account, points=points, key=uuid4(), audit_context=AuditContext(None, timezone.now(), "", "Sorry")
        )
    send()

    [credit] = webhook_data(shop, "points.earned")
    assert (credit["points_earned"], credit["note"]) == (20, "Sorry")


def test_every_scan_of_a_known_code_is_sent_with_its_outcome(brand, customer, shop):
    endpoint(brand, shop, types=[WebhookType.CODE_SCANNED])
    code, expired = factories.code(brand), factories.expired_code(brand)
    scan(code, customer)
    scan(code)
    scan(expired)
    scan("nobody's code")
    send()

    scans = webhook_data(shop, "code.scanned")
    assert sorted((each["code"], each["outcome"], each["reason"]) for each in scans) == sorted(
        [
            (code.code, "success", "accepted"),
            (code.code, "warning", "limit_reached"),
            (expired.code, "error", "expired"),
        ]
    )
    assert {each.get("user_id") for each in scans} == {customer.pk, None}


def test_scan_of_an_accrual_event_is_sent(brand, customer, shop, deliver_events):
    endpoint(brand, shop, types=[WebhookType.CODE_SCANNED])
    payload = {"type": "authenticator_scan", "product": {"authCode": factories.code(brand).code}}
    arguments = {"brand_id": brand.pk, "user_id": customer.pk}
    event = messages.NewEvent(kind="scan-auth", payload=payload, arguments=arguments)
    publishing.publish(messages=[event], brand_id=brand.pk, at=timezone.now())
    deliver_events()
    send()

    [scanned] = webhook_data(shop, "code.scanned")
    assert (scanned["outcome"], scanned["user_id"]) == ("success", customer.pk)


def test_scan_through_another_brand_does_not_identify_the_customer(brand, shop):
    endpoint(brand, shop, types=[WebhookType.CODE_SCANNED])
    other = factories.brand()
    foreign_customer = factories.customer(other)
    scan(factories.code(brand), foreign_customer, brand_id=other.pk)
    send()

    [scanned] = webhook_data(shop, "code.scanned")
    assert (scanned["reason"], "user_id" in scanned) == ("other_brand", False)


def test_recall_is_sent(brand, shop):
    endpoint(brand, shop, types=[WebhookType.BATCH_RECALLED])
    batch = factories.batch(brand)
    recall_fields = {"recall_id": "R-1", "contact": "0800 1", "message": "Return it", "reason": "Glass"}
    recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)
    send()

    [recall] = webhook_data(shop, "batch.recalled")
    assert (recall["recall_id"], recall["contact"], recall["batch"]["id"]) == ("R-1", "0800 1", batch.pk)


def test_rejected_recall_sends_no_webhook(brand, shop):
    endpoint(brand, shop, types=[WebhookType.BATCH_RECALLED])
    batch = factories.batch(brand)
    recall_fields = {"recall_id": "R-1", "contact": "0800 1", "message": "Return it", "reason": "Glass"}
    recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)
    with pytest.raises(errors.BatchRejected):
        recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)
    send()

    assert len(shop.calls) == 1


def test_no_webhook_event_is_published_without_a_subscribed_endpoint(brand, customer, deliver_events):
    endpoint(brand, "https://shop.example/hook", types=[WebhookType.REWARD_REDEEMED])
    disabled = endpoint(brand, "https://shop.example/hook")
    webhook_endpoints.stop(
        endpoint=disabled,
        state=webhook_endpoints.State.DISABLED,
        at=timezone.now(),
        audit_context=AuditContext(None, timezone.now()),
    )
    scan(factories.code(brand), customer)
    deliver_events()

    assert not Event.objects.filter(detail_type="announce").exists()


def test_endpoint_of_another_brand_receives_nothing(brand, customer, shop, deliver_events):
    endpoint(factories.brand(), shop)
    scan(factories.code(brand), customer)
    deliver_events()
    send()

    assert shop.calls == []


def test_all_endpoints_get_the_same_id_and_body_with_their_own_signature(brand, customer, shop, deliver_events):
    first, second = endpoint(brand, f"{shop.url}/1"), endpoint(brand, f"{shop.url}/2")
    scan(factories.code(brand), customer)
    deliver_events()
    send()

    earned = [call for call in shop.calls if call.payload["type"] == "points.earned"]
    assert [call.path for call in sorted(earned, key=lambda call: call.path)] == ["/hook/1", "/hook/2"]
    assert len({call.headers["webhook-id"] for call in earned}) == 1
    assert len({call.body for call in earned}) == 1
    for call in earned:
        call.verified((first if call.path.endswith("1") else second).secret)


def test_webhook_event_published_twice_is_sent_once(brand, customer, shop):
    endpoint(brand, shop, types=[WebhookType.REWARD_REDEEMED])
    event = webhook_events.webhook_event(
        WebhookType.REWARD_REDEEMED, {"reward_id": 3}, brand_id=brand.pk, user_id=customer.pk, event_id=uuid4()
    )
    publishing.publish(messages=[event], brand_id=brand.pk, at=timezone.now())
    publishing.publish(messages=[event], brand_id=brand.pk, at=timezone.now(), once=True)
    send()

    assert [call.payload["data"] for call in shop.calls] == [{"user_id": customer.pk, "reward_id": 3}]


def test_both_secrets_sign_during_the_grace_period_of_a_rotation(brand, shop):
    hook = endpoint(brand, shop)
    old = hook.secret
    new = signing_secrets.rotate(row=hook, at=timezone.now(), grace=timedelta(hours=1))
    hook.refresh_from_db()
    webhook_events.ping(endpoint=hook, at=timezone.now())
    send()
    [call] = shop.calls

    assert new != old
    assert call.verified(old) == call.verified(new)
    assert len(call.headers["webhook-signature"].split()) == 2


def test_old_secret_no_longer_signs_after_the_grace_period(brand, shop):
    hook = endpoint(brand, shop)
    old = hook.secret
    signing_secrets.rotate(row=hook, at=timezone.now() - timedelta(hours=2), grace=timedelta(hours=1))
    hook.refresh_from_db()
    webhook_events.ping(endpoint=hook, at=timezone.now())
    send()

    with pytest.raises(WebhookVerificationError):
        shop.calls[0].verified(old)


def test_signature_does_not_verify_a_changed_body(brand, shop):
    hook = endpoint(brand, shop)
    webhook_events.ping(endpoint=hook, at=timezone.now())
    send()
    [call] = shop.calls

    with pytest.raises(WebhookVerificationError):
        type(call)(call.path, call.headers, call.body.replace(b"Hello", b"Hallo")).verified(hook.secret)


def test_new_secrets_are_long_and_unique():
    first, second = webhook_signatures.new_secret(), webhook_signatures.new_secret()

    assert first.startswith("whsec_")
    assert len(first) == len("whsec_") + 44
    assert first != second


def test_secrets_are_encrypted_in_the_database(brand, shop):
    hook = endpoint(brand, shop)
    [stored] = type(hook).objects.raw("SELECT id, secret || '' AS kept FROM loyalty_webhookendpoint")

    assert hook.secret not in stored.kept
    assert hook.secret == type(hook).objects.get().secret


def test_purge_deletes_old_deliveries_but_not_waiting_ones(brand, shop):
    hook = endpoint(brand, shop)
    recent = webhook_events.ping(endpoint=hook, at=timezone.now())
    old, waiting = (
        webhook_events.ping(endpoint=hook, at=timezone.now()),
        webhook_events.ping(endpoint=hook, at=timezone.now()),
    )
    send()
    month_ago = timezone.now() - timedelta(days=31)
    WebhookDelivery.objects.filter(pk=old.pk).update(created_at=month_ago)
    WebhookDelivery.objects.filter(pk=waiting.pk).update(state="waiting", created_at=timezone.now() - timedelta(days=2))

    assert webhook_events.purge(before=timezone.now() - timedelta(days=1)) == 1
    assert set(WebhookDelivery.objects.values_list("pk", flat=True)) == {recent.pk, waiting.pk}


def erase(customer, brand):
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))


@pytest.mark.parametrize("is_member_elsewhere", [False, True])
def test_erasure_clears_a_customers_deliveries_and_stops_further_ones(brand, customer, shop, is_member_elsewhere):
    if is_member_elsewhere:
        factories.accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    endpoint(brand, shop, types=[WebhookType.CODE_SCANNED])
    other = factories.customer(brand)
    scan(factories.code(brand), other)
    scan(factories.code(brand), customer)
    send()
    shop.answers(Reply(500, b"Who is this person?"))
    scan(factories.code(brand), customer)
    send()
    scan(factories.code(brand), customer)
    assert (len(shop.calls), Event.objects.pending().filter(detail_type="announce").count()) == (3, 1)

    erase(customer, brand)
    resent = [webhook_events.resend(message=row, at=timezone.now()) for row in WebhookDelivery.objects.filter(body="")]
    hasten()
    send()

    assert (len(shop.calls), resent) == (3, [False, False])
    remaining = WebhookDelivery.objects.exclude(user=other).order_by("pk").values_list("state", "user", "body")
    assert list(remaining) == [("delivered", None, ""), ("dropped", None, "")]
    assert WebhookDelivery.objects.get(user=other).body
    assert "Who" not in "".join(WebhookAttempt.objects.values_list("answer", flat=True))


def test_erasure_during_a_call_drops_the_delivery_and_stores_no_attempt(brand, customer, shop):
    endpoint(brand, shop, types=[WebhookType.CODE_SCANNED])
    scan(factories.code(brand), customer)

    def erase_during_call(_call):
        try:
            erase(customer, brand)
        finally:
            connection.close()

    shop.on_call = erase_during_call
    shop.answers(Reply(500, b"Who is this person?"))
    send()

    delivery = WebhookDelivery.objects.get()
    assert (len(shop.calls), delivery.state, delivery.body, delivery.calls.count()) == (1, "dropped", "", 0)
    assert Event.objects.get(detail_type="call-webhook").outcome["error"] == "PERSON_ERASED"
