"""What webhooks are told: each event once to each endpoint that listens, signed, and nothing where nobody does."""

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
    with receiver() as running:
        yield running


def scan(code, customer=None, **fields):
    user_id = customer.pk if customer else None
    return scanning.scan(scanned=str(code), context=ScanContext(at=timezone.now(), user_id=user_id, **fields))


event_data = data_of


def test_points_earned_are_told(brand, customer, shop, deliver):
    hook = endpoint(brand, shop, types=[WebhookType.POINTS_EARNED])
    code = factories.code(brand)
    scanned = scan(code, customer)
    deliver()
    send()

    [call] = shop.calls
    content = call.verified(hook.secret)
    line = LoyaltyTransaction.objects.get()
    assert (content["type"], content["timestamp"][-1]) == ("points.earned", "Z")
    assert content["data"] == {
        "user_id": customer.pk,
        "points_earned": 10,
        "new_balance": 10,
        "transaction_id": str(line.pk),
        "reason_ids": [code.code],
        "note": line.note,
        "current_level": "Bronze",
        "lifetime_points": 10,
        "cause": str(scanned.scan_id),
    }
    assert call.headers["content-type"] == "application/json"


def test_a_step_in_a_campaign_that_pays_nothing_earned_no_points(brand, customer, shop, deliver):
    factories.campaign(brand, type="login")
    endpoint(brand, shop)
    fields = {"brand_id": brand.pk, "user_id": customer.pk}
    message = messages.NewEvent(kind="log-user-login", payload={"type": "login"}, arguments=fields)
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    deliver()
    send()

    assert LoyaltyTransaction.objects.get().points_earned == 0
    assert shop.calls == []


def test_a_level_reached_is_told_beside_the_points(brand, customer, shop, deliver):
    factories.level(brand, "Silver", 10)
    endpoint(brand, shop)
    scan(factories.code(brand), customer)
    deliver()
    send()

    [level] = event_data(shop, "level.reached")
    assert (level["user_id"], level["current_level"], level["lifetime_points"]) == (customer.pk, "Silver", 10)
    assert len(event_data(shop, "points.earned")) == 1


def test_points_by_hand_are_told_and_points_taken_are_not(brand, customer, shop):
    endpoint(brand, shop)
    account = factories.account(customer, brand)
    for points in (Decimal(20), Decimal(-5)):
        adjustments.adjust(
            account=account, points=points, key=uuid4(), audit_context=AuditContext(None, timezone.now(), "", "Sorry")
        )
    send()

    [credit] = event_data(shop, "points.earned")
    assert (credit["points_earned"], credit["note"]) == (20, "Sorry")


def test_every_scan_of_a_code_is_told_with_its_outcome(brand, customer, shop):
    endpoint(brand, shop, types=[WebhookType.CODE_SCANNED])
    code, expired = factories.code(brand), factories.expired_code(brand)
    scan(code, customer)
    scan(code)
    scan(expired)
    scan("nobody's code")
    send()

    scans = event_data(shop, "code.scanned")
    assert sorted((each["code"], each["outcome"], each["reason"]) for each in scans) == sorted(
        [
            (code.code, "success", "accepted"),
            (code.code, "warning", "limit_reached"),
            (expired.code, "error", "expired"),
        ]
    )
    assert {each.get("user_id") for each in scans} == {customer.pk, None}


def test_a_scan_that_an_accrual_brings_is_told_too(brand, customer, shop, deliver):
    endpoint(brand, shop, types=[WebhookType.CODE_SCANNED])
    payload = {"type": "authenticator_scan", "product": {"authCode": factories.code(brand).code}}
    arguments = {"brand_id": brand.pk, "user_id": customer.pk}
    message = messages.NewEvent(kind="scan-auth", payload=payload, arguments=arguments)
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    deliver()
    send()

    [scanned] = event_data(shop, "code.scanned")
    assert (scanned["outcome"], scanned["user_id"]) == ("success", customer.pk)


def test_whose_customer_scanned_through_another_brand_is_not_told(brand, shop):
    endpoint(brand, shop, types=[WebhookType.CODE_SCANNED])
    other = factories.brand()
    stranger = factories.customer(other)
    scan(factories.code(brand), stranger, brand_id=other.pk)
    send()

    [scanned] = event_data(shop, "code.scanned")
    assert (scanned["reason"], "user_id" in scanned) == ("other_brand", False)


def test_a_recall_is_told(brand, shop):
    endpoint(brand, shop, types=[WebhookType.BATCH_RECALLED])
    batch = factories.batch(brand)
    recall_fields = {"recall_id": "R-1", "contact": "0800 1", "message": "Return it", "reason": "Glass"}
    recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)
    send()

    [recall] = event_data(shop, "batch.recalled")
    assert (recall["recall_id"], recall["contact"], recall["batch"]["id"]) == ("R-1", "0800 1", batch.pk)


def test_a_refused_recall_tells_nothing(brand, shop):
    endpoint(brand, shop, types=[WebhookType.BATCH_RECALLED])
    batch = factories.batch(brand)
    recall_fields = {"recall_id": "R-1", "contact": "0800 1", "message": "Return it", "reason": "Glass"}
    recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)
    with pytest.raises(errors.BatchRejected):
        recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)
    send()

    assert len(shop.calls) == 1


def test_where_nobody_listens_nothing_is_announced(brand, customer, deliver):
    endpoint(brand, "https://shop.example/hook", types=[WebhookType.REWARD_REDEEMED])
    stopped = endpoint(brand, "https://shop.example/hook")
    webhook_endpoints.stop(
        endpoint=stopped,
        state=webhook_endpoints.State.DISABLED,
        at=timezone.now(),
        audit_context=AuditContext(None, timezone.now()),
    )
    scan(factories.code(brand), customer)
    deliver()

    assert not Event.objects.filter(detail_type="announce").exists()


def test_another_brands_webhooks_hear_nothing(brand, customer, shop, deliver):
    endpoint(factories.brand(), shop)
    scan(factories.code(brand), customer)
    deliver()
    send()

    assert shop.calls == []


def test_each_endpoint_gets_the_same_message_under_the_same_id_with_its_own_signature(brand, customer, shop, deliver):
    first, second = endpoint(brand, f"{shop.url}/1"), endpoint(brand, f"{shop.url}/2")
    scan(factories.code(brand), customer)
    deliver()
    send()

    earned = [call for call in shop.calls if call.payload["type"] == "points.earned"]
    assert [call.path for call in sorted(earned, key=lambda call: call.path)] == ["/hook/1", "/hook/2"]
    assert len({call.headers["webhook-id"] for call in earned}) == 1
    assert len({call.body for call in earned}) == 1
    for call in earned:
        call.verified((first if call.path.endswith("1") else second).secret)


def test_a_handler_of_anybodys_may_announce_what_it_likes(brand, customer, shop):
    endpoint(brand, shop, types=[WebhookType.REWARD_REDEEMED])
    message = webhook_events.webhook_event(
        WebhookType.REWARD_REDEEMED, {"reward_id": 3}, brand_id=brand.pk, user_id=customer.pk, event_id=uuid4()
    )
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now())
    publishing.publish(messages=[message], brand_id=brand.pk, at=timezone.now(), once=True)
    send()

    assert [call.payload["data"] for call in shop.calls] == [{"user_id": customer.pk, "reward_id": 3}]


def test_for_a_while_after_rotation_both_secrets_sign(brand, shop):
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


def test_when_its_time_is_over_the_old_secret_signs_no_more(brand, shop):
    hook = endpoint(brand, shop)
    old = hook.secret
    signing_secrets.rotate(row=hook, at=timezone.now() - timedelta(hours=2), grace=timedelta(hours=1))
    hook.refresh_from_db()
    webhook_events.ping(endpoint=hook, at=timezone.now())
    send()

    with pytest.raises(WebhookVerificationError):
        shop.calls[0].verified(old)


def test_a_changed_body_is_not_verified(brand, shop):
    hook = endpoint(brand, shop)
    webhook_events.ping(endpoint=hook, at=timezone.now())
    send()
    [call] = shop.calls

    with pytest.raises(WebhookVerificationError):
        type(call)(call.path, call.headers, call.body.replace(b"Hello", b"Hallo")).verified(hook.secret)


def test_secrets_are_long_and_each_their_own():
    first, second = webhook_signatures.new_secret(), webhook_signatures.new_secret()

    assert first.startswith("whsec_")
    assert len(first) == len("whsec_") + 44
    assert first != second


def test_secrets_are_not_in_the_database_as_they_are(brand, shop):
    hook = endpoint(brand, shop)
    [stored] = type(hook).objects.raw("SELECT id, secret || '' AS kept FROM loyalty_webhookendpoint")

    assert hook.secret not in stored.kept
    assert hook.secret == type(hook).objects.get().secret


def test_a_log_is_forgotten_when_it_is_old(brand, shop):
    hook = endpoint(brand, shop)
    kept = webhook_events.ping(endpoint=hook, at=timezone.now())
    old, waiting = (
        webhook_events.ping(endpoint=hook, at=timezone.now()),
        webhook_events.ping(endpoint=hook, at=timezone.now()),
    )
    send()
    month_ago = timezone.now() - timedelta(days=31)
    WebhookDelivery.objects.filter(pk=old.pk).update(created_at=month_ago)
    WebhookDelivery.objects.filter(pk=waiting.pk).update(state="waiting", created_at=timezone.now() - timedelta(days=2))

    assert webhook_events.purge(before=timezone.now() - timedelta(days=1)) == 1
    assert set(WebhookDelivery.objects.values_list("pk", flat=True)) == {kept.pk, waiting.pk}


def erase(person, brand):
    erasure.erase(user_id=person.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))


@pytest.mark.parametrize("elsewhere", [False, True])
def test_of_an_erased_person_nothing_more_is_told_and_the_log_says_nothing(brand, customer, shop, elsewhere):
    if elsewhere:
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
    again = [
        webhook_events.resend(message=message, at=timezone.now()) for message in WebhookDelivery.objects.filter(body="")
    ]
    hasten()
    send()

    assert (len(shop.calls), again) == (3, [False, False])
    kept = WebhookDelivery.objects.exclude(user=other).order_by("pk").values_list("state", "user", "body")
    assert list(kept) == [("delivered", None, ""), ("dropped", None, "")]
    assert WebhookDelivery.objects.get(user=other).body
    assert "Who" not in "".join(WebhookAttempt.objects.values_list("answer", flat=True))


def test_who_is_erased_while_a_receiver_is_told_of_them_is_not_written_down_again(brand, customer, shop):
    endpoint(brand, shop, types=[WebhookType.CODE_SCANNED])
    scan(factories.code(brand), customer)

    def erase_meanwhile(_call):
        try:
            erase(customer, brand)
        finally:
            connection.close()

    shop.on_call = erase_meanwhile
    shop.answers(Reply(500, b"Who is this person?"))
    send()

    message = WebhookDelivery.objects.get()
    assert (len(shop.calls), message.state, message.body, message.calls.count()) == (1, "dropped", "", 0)
    assert Event.objects.get(detail_type="call-webhook").outcome["error"] == "PERSON_ERASED"
