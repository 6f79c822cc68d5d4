"""The endpoints of the API, each with a request that it accepts, and what an error answer must be like.

Add an endpoint to ENDPOINTS, and its fields to test_hostile_input: then every table of the hostile tests applies to it.
"""

import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from django.db import connection
from django.utils import timezone

from authcodes.admin.resources import ProductResource
from authcodes.api.qr_images import image_address
from authcodes.models.batches import Recall
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning import guest_tokens
from brands.identity import api_keys, tokens
from brands.models.credentials import ApiKey, LoginSession
from brands.models.legal_texts import LegalText
from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import EventKind
from campaigns.models.replays import Replay
from core.errors import DomainError
from events.models import Event
from jobs.models import Job, StagedUpload
from loyalty.members import confirmations, numbers
from loyalty.members.confirmations import Begun
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.programme.segments import Segment
from loyalty.models.rewards import Redemption, Reward
from loyalty.notifications import rendering
from portal.import_export import imports, tables
from portal.import_export.previews import Tally
from tests.support import factories, referrals
from tests.support.api import Api, error
from tests.support.factories import PASSWORD
from tests.support.fakes import wallets
from tests.support.portal import scan

BAD_REQUEST = (400, "VALIDATION_ERROR")
NOT_FOUND = (404, "NOT_FOUND")
USER_NOT_FOUND = (404, "USER_NOT_FOUND")


@dataclass
class Scenario:
    """A brand with a customer and a code, another brand with another customer, and several callers."""

    api: Api
    brand: Brand
    customer: User
    code: AuthCode
    other_brand: Brand
    other_customer: User
    guest: Api
    customer_api: Api  # the customer's calls
    app: Api
    hub: Api
    bare_hub: Api  # without a user's token, which some endpoints would take for the user in question
    refresh: str
    guest_scan: Scan
    buyer: Api  # the customer, with an idempotency key for one redemption
    reward: Reward
    claim: RewardClaim
    redemption: Redemption
    job: Job
    level: BrandLevel
    rule: EarningRule
    event_kind: EventKind
    friend: int  # another member's account
    second: User  # another member
    merged: User  # whose account was merged into the second one's
    segment: Segment
    replay: Replay
    recall: Recall
    event: Event
    legal_text: LegalText
    registration: Begun
    verification: EmailConfirmation

    def call(
        self,
        name: str,
        *,
        body: Any = None,
        method: str = "",
        content_type: str = "application/json",
        query: str = "",
        without: str = "",
        caller: Api | None = None,
        **headers: str,
    ) -> Any:
        """The endpoint's own request, changed by the arguments."""
        endpoint = ENDPOINTS[name]
        by = (caller or getattr(self, endpoint.caller)).without(without).with_headers(**headers)
        sent = endpoint.body(self) if body is None else body
        if sent is None and endpoint.file and not method:
            sent, content_type = endpoint.file, "text/csv"
        data = sent if isinstance(sent, bytes) else b"" if sent is None else json.dumps(sent).encode()
        address = endpoint.address(self, by) + query
        return by.call(method or endpoint.method, address, data=data, content_type=content_type)


def make_scenario(api: Api) -> Scenario:
    customer, other = factories.customer(api.brand, password=PASSWORD), factories.brand()
    Brand.objects.filter(pk=api.brand.pk).update(transfers_allowed=True)
    referrals.programme(api.brand)
    wallets.apple(api.brand)
    wallets.google(api.brand)
    customer_api, bare_hub = api.as_customer(customer), api.hub()
    factories.points(customer, api.brand, 100)
    milestone = factories.milestone(factories.campaign(api.brand, type="order"), 1, auto_claim=False)
    second, merged = (factories.customer(api.brand) for _ in range(2))
    factories.merge(second, merged, api.brand)
    return Scenario(
        api=api,
        brand=api.brand,
        customer=customer,
        code=factories.code(api.brand, scan_limit=None),
        other_brand=other,
        other_customer=factories.customer(other),
        guest=api,
        customer_api=customer_api,
        app=customer_api.app(),
        hub=customer_api.with_headers(**bare_hub.headers),
        bare_hub=bare_hub,
        refresh=tokens.issue(user=customer, brand=api.brand, at=timezone.now()).refresh,
        guest_scan=scan(factories.code(api.brand), points_status="guest"),
        buyer=customer_api.with_headers(idempotency_key="one-wish"),
        reward=factories.reward(api.brand),
        claim=RewardClaim.objects.create(milestone=milestone, user=customer),
        redemption=factories.redemption(customer, factories.reward(api.brand)),
        job=Job.objects.create(brand=api.brand, kind="generate", title="Generate codes"),
        # These two do not change what is earned here.
        level=factories.level(api.brand, "Gold", threshold=10**6),
        rule=EarningRule.objects.create(
            brand=api.brand, kind="log-user-login", name="A draft", reward_value=5, state="draft"
        ),
        friend=factories.account(factories.customer(api.brand), api.brand).pk,
        event_kind=factories.event_kind(api.brand, store=["Bern", "Basel"], minutes="whole"),
        second=second,
        merged=merged,
        segment=factories.segment(api.brand),
        replay=factories.replay(api.brand),
        recall=recalls.recall_batch(
            batch=factories.batch(api.brand),
            recall_id="R-0",
            contact="x@y.z",
            message="Stop.",
            reason="Glass",
            at=timezone.now(),
        ),
        event=factories.hub_event(api.brand, customer),
        legal_text=factories.legal_text(api.brand),
        # Begun here, since a request for a code publishes an event.
        registration=confirmations.begin_registration(brand=api.brand, at=timezone.now(), **newcomer_credentials()),
        verification=confirmations.begin_verification(user=customer, brand=api.brand, at=timezone.now()),
    )


def no_body(_scenario: Scenario) -> None:
    """The body of a request without one."""


@dataclass(frozen=True)
class Endpoint:
    """An endpoint with a request that it accepts. `{code}` and the like in `path` are filled in from the scenario."""

    caller: str
    method: str
    path: str
    body: Callable[[Scenario], dict[str, Any] | None] = no_body
    file: bytes = b""  # the body, if it takes no JSON

    def address(self, scenario: Scenario, caller: Api | None = None) -> str:
        by = caller or scenario.bare_hub
        return self.path.format(**{name: IN_PATHS[name](scenario, by) for name in re.findall(r"{(\w+)}", self.path)})


# The values of the names in a path, for a scenario and a caller.
IN_PATHS: dict[str, Callable[[Scenario, Api], Any]] = {
    "upload": lambda w, by: own_import(w, by),
    "resource": lambda _w, _by: "products",
    "code": lambda w, _by: w.code,
    "customer": lambda w, _by: w.customer.pk,
    "merged": lambda w, _by: w.merged.pk,
    "batch": lambda w, _by: w.code.batch_id,
    "image": lambda w, _by: image_address(w.code),
    "guest_scan": lambda w, _by: w.guest_scan.pk,
    "drawing": lambda w, _by: image_address(w.code, kind="svg"),
    "reward": lambda w, _by: w.reward.pk,
    "milestone": lambda w, _by: w.claim.milestone_id,
    "redemption": lambda w, _by: w.redemption.pk,
    "product": lambda w, _by: w.code.product_id,
    "campaign": lambda w, _by: w.claim.milestone.campaign_id,
    "job": lambda w, _by: w.job.pk,
    "level": lambda w, _by: w.level.pk,
    "rule": lambda w, _by: w.rule.pk,
    "event_kind": lambda w, _by: w.event_kind.pk,
    "segment": lambda w, _by: w.segment.pk,
    "replay": lambda w, _by: w.replay.pk,
    "recalled": lambda w, _by: w.recall.batches.get().pk,
    "event": lambda w, _by: w.event.pk,
    "line": lambda w, _by: LoyaltyTransaction.objects.filter(user_point__user=w.customer).earliest("pk").pk,
    "scan": lambda _w, _by: Scan.objects.values_list("pk", flat=True).first() or uuid.uuid4(),
}


def envelope(scenario: Scenario) -> dict[str, Any]:
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "scan-auth",
        "source": "shop.customer-app",
        "account": "1",
        "time": "2026-03-14T09:26:53.589Z",
        "region": "here",
        "resources": [],
        "detail": {
            "arguments": {"brand_id": scenario.brand.pk, "user_id": scenario.customer.pk},
            "payload": {
                "type": "authenticator_scan",
                "product": product(scenario),
                "location": {"latitude": 46.9, "longitude": 7.4, "city": "Bern", "region": "Bern"},
                "timestamp": "2026-03-14T09:26:53.589Z",
            },
        },
    }


def product(scenario: Scenario) -> dict[str, Any]:
    code = str(scenario.code)
    return {"productId": 1, "authCode": code, "title": "A", "retailPrice": 9.5, "redeem_point_value": 5}


def action(scenario: Scenario, **payload: Any) -> dict[str, Any]:
    return {"user_id": scenario.customer.pk, "brand_id": scenario.brand.pk, **payload}


def scan_action(scenario: Scenario) -> dict[str, Any]:
    place = {"latitude": 46.9, "longitude": 7.4, "city": "Bern", "region": "Bern"}
    return action(
        scenario,
        type="authenticator_scan",
        product=product(scenario),
        location=place,
        timestamp="2026-03-14T09:26:53.589Z",
    )


def order_action(scenario: Scenario) -> dict[str, Any]:
    item = {"productId": 1, "sku": "A", "quantity": 1, "unitPrice": 5}
    order = {"orderId": "1", "currency": "EUR", "subtotal": 5, "discount": 1, "total": 5, "items": [item]}
    return action(scenario, type="order", order=order)


def profile_action(scenario: Scenario) -> dict[str, Any]:
    return action(scenario, type="profile", changedFields=["birthday"], completedFields=["birthday"])


def login_action(scenario: Scenario) -> dict[str, Any]:
    return action(scenario, type="login", sessionId="a", channel="web")


def refresh_token(scenario: Scenario) -> dict[str, Any]:
    return {"refresh": scenario.refresh}


def scan_body(scenario: Scenario) -> dict[str, Any]:
    place = {"latitude": 46.9, "longitude": 7.4, "city": "Bern", "region": "Bern"}
    return {"code": str(scenario.code), "location": place, "device": "Pixel", "app_version": "1"}


def for_customer(scenario: Scenario) -> dict[str, Any]:
    return {"customer_id": str(scenario.customer.pk)}


def credentials(scenario: Scenario) -> dict[str, Any]:
    return {"email": scenario.customer.email, "password": PASSWORD, "brand_id": scenario.brand.pk}


def newcomer(scenario: Scenario) -> dict[str, Any]:
    login = {"email": "new@example.com", "password": "a long pass phrase"}
    return {**login, "brand_id": scenario.brand.pk, "first_name": "New", "last_name": "Comer"}


def proof(scenario: Scenario) -> dict[str, Any]:
    return {"scan_token": guest_tokens.token_of(scenario.guest_scan.pk, scanned_at=scenario.guest_scan.scanned_at)}


def at_brand(scenario: Scenario) -> dict[str, Any]:
    return {"brand_id": scenario.brand.pk}


def new_password(scenario: Scenario) -> dict[str, Any]:
    parameters = {"u": scenario.customer.pk, "p": rendering.password_mark(scenario.customer)}
    link = rendering.address_of(scenario.brand, rendering.NEW_PASSWORD, parameters)
    return {"token": link.rpartition("/")[2], "password": "another long pass phrase"}


PLACE = {"latitude": 46.9, "longitude": 7.4}
CAMPAIGN_EVENT = "brand/loyalty/campaign/event"


def mailed_code(w: Scenario) -> dict[str, Any]:
    begun = w.registration
    return {"registration_id": str(begun.confirmation_id), "code": confirmations.code_of(begun.confirmation_id)}


def newcomer_credentials() -> dict[str, Any]:
    return {"email": f"{uuid.uuid4().hex}@example.com", "password": PASSWORD}


def own_code(w: Scenario) -> dict[str, Any]:
    return {"code": confirmations.code_of(w.verification.pk)}


NEW_PRODUCT = {
    "sku": "NEW-1",
    "title": "New",
    "gtin": "4006381333931",
    "retail_price": 9.5,
    "points_per_scan": 5,
    "is_active": True,
}
NEW_REWARD = {
    "name": "New",
    "description": "New",
    "cost": 5,
    "stock": 5,
    "limit_per_member": 1,
    "valid_from": "2026-01-01T00:00:00Z",
    "valid_until": "2099-01-01T00:00:00Z",
    "code_days": 9,
    "is_active": True,
}
RECALL = {"recall_id": "R-1", "contact": "x@y.z", "message": "Stop.", "reason": "Glass", "notify_customers": False}


def new_batch(w: Scenario) -> dict[str, Any]:
    return {
        "range_name": "New batch",
        "quantity": 5,
        "product_id": w.code.product_id,
        "prefix": "NEWBATCH",
        "starting_number": 1,
        "number_width": 8,
        "points_per_scan": 5,
        "scan_limit": 1,
        "expiration_date": "2099-12-31",
        "signed": True,
    }


def code_change(w: Scenario) -> dict[str, Any]:
    return {
        "action": "assign",
        "batch_id": w.code.batch_id,
        "first": w.code.code,
        "last": w.code.code,
        "product_id": w.code.product_id,
        "points_per_scan": 5,
        "inventory_location": "Shelf",
        "reason": "Packed",
    }


def member_change(_w: Scenario) -> dict[str, Any]:
    return {
        "first_name": "Ada",
        "last_name": "L",
        "email": f"{uuid.uuid4().hex}@example.com",
        "external_id": "CRM-1",
        "status": "active",
        "reason": "Ticket 1",
    }


IMPORTED = b"sku,title\nIMPORTED,Imported\n"


def own_import(scenario: Scenario, caller: Api) -> int:
    """The caller's upload of IMPORTED, or the hub's if the caller cannot upload at the brand."""
    uploader = uploader_of(scenario, caller) or uploader_of(scenario, scenario.bare_hub) or {}
    uploads = StagedUpload.objects.filter(brand=scenario.brand, user=uploader.get("by"), api_key=uploader.get("key_id"))
    upload = uploads.first() or imports.stage(
        ProductResource, brand=scenario.brand, file=BytesIO(IMPORTED), size=len(IMPORTED), name="new.csv", **uploader
    )
    return upload.pk


def uploader_of(scenario: Scenario, caller: Api) -> dict[str, Any] | None:
    """The uploader, as arguments of `imports.stage`."""
    if text := caller.headers.get("api-key"):
        key = ApiKey.objects.filter(brand=scenario.brand, prefix=text[: api_keys.VISIBLE_CHARACTERS]).first()
        return {"by": None, "key_id": key.pk} if key else None
    token = caller.headers.get("authorization", "").removeprefix("Bearer ")
    try:
        return {"by": User.objects.get(pk=tokens.verify_access(token).user_id), "key_id": None}
    except DomainError:
        return None


def confirmation(w: Scenario) -> dict[str, Any]:
    table, _is_whole = tables.begin(BytesIO(IMPORTED), size=len(IMPORTED))
    tally = Tally()
    tally.add(ProductResource(w.brand, may_add=True, may_change=True).plan(table))
    return {"digest": tally.digest}


ENDPOINTS = {
    "log_in": Endpoint("guest", "POST", "auth/token", credentials),
    "refresh_tokens": Endpoint("guest", "POST", "auth/token/refresh", refresh_token),
    "log_out": Endpoint("guest", "POST", "auth/token/revoke", refresh_token),
    "register": Endpoint("guest", "POST", "auth/register", newcomer),
    "read_legal_texts": Endpoint("app", "GET", "legal-texts"),
    "confirm_registration": Endpoint("guest", "POST", "auth/register/confirm", mailed_code),
    "send_email_verification": Endpoint("customer_api", "POST", "auth/email/verification"),
    "confirm_email": Endpoint("customer_api", "POST", "auth/email/verification/confirm", own_code),
    "forgot_password": Endpoint(
        "guest", "POST", "auth/password/forgot", lambda w: {"email": w.customer.email} | at_brand(w)
    ),
    "reset_password": Endpoint("guest", "POST", "auth/password/reset", new_password),
    "credit_action": Endpoint("hub", "POST", CAMPAIGN_EVENT, scan_action),
    "credit_action (app)": Endpoint("app", "POST", CAMPAIGN_EVENT, scan_action),
    "credit_action (order)": Endpoint("hub", "POST", CAMPAIGN_EVENT, order_action),
    "credit_action (profile)": Endpoint("hub", "POST", CAMPAIGN_EVENT, profile_action),
    "credit_action (login)": Endpoint("hub", "POST", CAMPAIGN_EVENT, login_action),
    "ingest_event": Endpoint("bare_hub", "POST", "events", envelope),
    "verify_product": Endpoint("customer_api", "POST", "verify/product/{code}", lambda w: scan_body(w)["location"]),
    "scan_code": Endpoint("guest", "POST", "auth-codes/scan", scan_body),
    "scan_code (hub)": Endpoint("bare_hub", "POST", "auth-codes/scan", lambda w: scan_body(w) | for_customer(w)),
    "validate_code": Endpoint(
        "bare_hub", "POST", "auth-codes/validate", lambda w: {"code": str(w.code)} | for_customer(w)
    ),
    "read_scan": Endpoint("guest", "GET", "scans/{scan}"),
    "adopt_scan": Endpoint("customer_api", "POST", "scans/{guest_scan}/adopt", proof),
    "place_scan": Endpoint("guest", "POST", "scans/{guest_scan}/place", lambda w: PLACE | proof(w)),
    "read_points": Endpoint("customer_api", "GET", "customer/loyalty/points"),
    "list_transactions": Endpoint("customer_api", "GET", "customer/loyalty/transactions"),
    "register_device": Endpoint(
        "customer_api", "PUT", "customer/devices", lambda _w: {"token": "a:b", "platform": "ios"}
    ),
    "read_profile": Endpoint("customer_api", "GET", "customer/profile"),
    "read_consents": Endpoint("customer_api", "GET", "customer/consents"),
    "give_consent": Endpoint("customer_api", "POST", "customer/consents", lambda w: {"legal_texts": [w.legal_text.pk]}),
    "change_profile": Endpoint(
        "customer_api",
        "PATCH",
        "customer/profile",
        lambda _w: {"first_name": "Ada", "notifications": {"points": {"email": True}}},
    ),
    "erase_me": Endpoint("customer_api", "DELETE", "customer", lambda _w: {"password": PASSWORD}),
    "list_campaigns": Endpoint("customer_api", "GET", "customer/loyalty/campaigns"),
    "list_rewards": Endpoint("customer_api", "GET", "customer/loyalty/rewards"),
    "list_wallets": Endpoint("customer_api", "GET", "customer/wallet"),
    "read_apple_pass": Endpoint("customer_api", "GET", "customer/wallet/apple"),
    "read_google_pass": Endpoint("customer_api", "GET", "customer/wallet/google"),
    "redeem_reward": Endpoint("buyer", "POST", "customer/loyalty/rewards/{reward}/redeem"),
    "claim_reward": Endpoint("customer_api", "POST", "customer/loyalty/milestones/{milestone}/claim"),
    "claim_reward_by_old_path": Endpoint("customer_api", "POST", "customer/loyalty/rewards/{milestone}/claim"),
    "undo_redemption": Endpoint("customer_api", "POST", "customer/loyalty/redemptions/{redemption}/undo"),
    "enrol_member": Endpoint("bare_hub", "POST", "members", lambda w: {"user_id": w.customer.pk}),
    "correct_member": Endpoint(
        "bare_hub",
        "PATCH",
        "members/{customer}",
        lambda _w: {
            "first_name": "Ada",
            "last_name": "L",
            "email": f"{uuid.uuid4().hex}@example.com",
            "reason": "Misspelt",
        },
    ),
    "change_email": Endpoint(
        "customer_api", "POST", "auth/email/change", lambda _w: {"email": f"{uuid.uuid4().hex}@example.com"}
    ),
    "report_fake": Endpoint("bare_hub", "POST", "fake-reports", lambda w: {"code": str(w.code), "place": "A stall"}),
    "list_redemptions": Endpoint("customer_api", "GET", "customer/loyalty/redemptions"),
    "check_redemption": Endpoint("bare_hub", "POST", "redemptions/check", lambda w: {"code": w.redemption.code}),
    "use_redemption": Endpoint("bare_hub", "POST", "redemptions/use", lambda w: {"code": w.redemption.code}),
    "list_code_scans": Endpoint("bare_hub", "GET", "auth-codes/{code}/scans"),
    "list_qr_codes": Endpoint("bare_hub", "GET", "batch-ranges/{batch}/qr-codes"),
    "read_qr_image": Endpoint("guest", "GET", "{image}"),
    "read_qr_image_svg": Endpoint("guest", "GET", "{drawing}"),
    "list_products": Endpoint("bare_hub", "GET", "brand/products"),
    "create_product": Endpoint("bare_hub", "POST", "brand/products", lambda _w: dict(NEW_PRODUCT)),
    "read_product": Endpoint("bare_hub", "GET", "brand/products/{product}"),
    "change_product": Endpoint("bare_hub", "PATCH", "brand/products/{product}", lambda _w: dict(NEW_PRODUCT)),
    "list_batches": Endpoint("bare_hub", "GET", "brand/batches"),
    "create_batch": Endpoint("bare_hub", "POST", "brand/batches", new_batch),
    "read_batch": Endpoint("bare_hub", "GET", "brand/batches/{batch}"),
    "list_recalls": Endpoint("bare_hub", "GET", "brand/recalls"),
    "read_recall": Endpoint("bare_hub", "GET", "brand/batches/{recalled}/recall"),
    "recall_batch": Endpoint("bare_hub", "POST", "brand/batches/{batch}/recall", lambda _w: dict(RECALL)),
    "list_codes": Endpoint("bare_hub", "GET", "brand/codes"),
    "read_code": Endpoint("bare_hub", "GET", "brand/codes/{code}"),
    "change_codes": Endpoint("bare_hub", "POST", "brand/code-changes", code_change),
    "list_scans": Endpoint("bare_hub", "GET", "brand/scans"),
    "read_brand_scan": Endpoint("bare_hub", "GET", "brand/scans/{guest_scan}"),
    "list_brand_campaigns": Endpoint("bare_hub", "GET", "brand/campaigns"),
    "read_brand_campaign": Endpoint("bare_hub", "GET", "brand/campaigns/{campaign}"),
    "list_earning_rules": Endpoint("bare_hub", "GET", "brand/earning-rules"),
    "read_earning_rule": Endpoint("bare_hub", "GET", "brand/earning-rules/{rule}"),
    "give_points": Endpoint(
        "buyer",
        "POST",
        "customer/loyalty/transfers",
        lambda w: {"receiver": numbers.barcode(w.friend), "points": 5},
    ),
    "read_referral": Endpoint("customer_api", "GET", "customer/loyalty/referral"),
    "give_referral_code": Endpoint(
        "customer_api",
        "POST",
        "customer/loyalty/referral",
        lambda w: {"code": referrals.code_of_earlier_member(w.friend)},
    ),
    "read_number": Endpoint("customer_api", "GET", "customer/loyalty/number"),
    "list_event_kinds": Endpoint("bare_hub", "GET", "brand/event-kinds"),
    "read_event_kind": Endpoint("bare_hub", "GET", "brand/event-kinds/{event_kind}"),
    "list_segments": Endpoint("bare_hub", "GET", "brand/segments"),
    "read_segment": Endpoint("bare_hub", "GET", "brand/segments/{segment}"),
    "list_replays": Endpoint("bare_hub", "GET", "brand/replays"),
    "start_replay": Endpoint("bare_hub", "POST", "brand/replays", lambda w: {"days": 7, "rule": w.rule.pk}),
    "read_replay": Endpoint("bare_hub", "GET", "brand/replays/{replay}"),
    "list_events": Endpoint("bare_hub", "GET", "brand/events"),
    "read_event": Endpoint("bare_hub", "GET", "brand/events/{event}"),
    "list_members": Endpoint("bare_hub", "GET", "brand/members"),
    "enrol_brand_member": Endpoint(
        "bare_hub", "POST", "brand/members", lambda w: {"user_id": w.customer.pk, "external_id": "CRM-1"}
    ),
    "read_member": Endpoint("bare_hub", "GET", "brand/members/{customer}"),
    "change_member": Endpoint("bare_hub", "PATCH", "brand/members/{customer}", member_change),
    "adjust_points": Endpoint(
        "bare_hub", "POST", "brand/members/{customer}/adjustments", lambda _w: {"points": 5, "reason": "Ticket 1"}
    ),
    "merge_member": Endpoint(
        "bare_hub", "POST", "brand/members/{customer}/merge", lambda w: {"into": w.second.pk, "reason": "One person"}
    ),
    "undo_merge": Endpoint("bare_hub", "POST", "brand/members/{merged}/merge/undo", lambda _w: {"reason": "A mistake"}),
    "list_levels": Endpoint("bare_hub", "GET", "brand/levels"),
    "read_level": Endpoint("bare_hub", "GET", "brand/levels/{level}"),
    "list_brand_rewards": Endpoint("bare_hub", "GET", "brand/rewards"),
    "create_reward": Endpoint("bare_hub", "POST", "brand/rewards", lambda _w: dict(NEW_REWARD)),
    "read_brand_reward": Endpoint("bare_hub", "GET", "brand/rewards/{reward}"),
    "change_reward": Endpoint("bare_hub", "PATCH", "brand/rewards/{reward}", lambda _w: dict(NEW_REWARD)),
    "read_programme": Endpoint("bare_hub", "GET", "brand/programme"),
    "list_brand_redemptions": Endpoint("bare_hub", "GET", "brand/redemptions"),
    "read_brand_redemption": Endpoint("bare_hub", "GET", "brand/redemptions/{redemption}"),
    "use_brand_redemption": Endpoint(
        "bare_hub", "POST", "brand/redemptions/use", lambda w: {"code": w.redemption.code}
    ),
    "list_brand_transactions": Endpoint("bare_hub", "GET", "brand/transactions"),
    "read_brand_transaction": Endpoint("bare_hub", "GET", "brand/transactions/{line}"),
    "list_jobs": Endpoint("bare_hub", "GET", "brand/jobs"),
    "read_job": Endpoint("bare_hub", "GET", "brand/jobs/{job}"),
    "upload_import": Endpoint("bare_hub", "POST", "brand/imports/{resource}", file=IMPORTED),
    "read_import": Endpoint("bare_hub", "GET", "brand/imports/{resource}/{upload}"),
    "download_import_errors": Endpoint("bare_hub", "GET", "brand/imports/{resource}/{upload}/errors"),
    "confirm_import": Endpoint("bare_hub", "POST", "brand/imports/{resource}/{upload}/confirm", confirmation),
    "export_resource": Endpoint("bare_hub", "GET", "brand/exports/{resource}"),
    "check_alive": Endpoint("guest", "GET", "/healthz"),
}
BRAND = [name for name, it in ENDPOINTS.items() if it.path.startswith("brand/") and it.path != CAMPAIGN_EVENT]
BRAND_LISTS = [name for name in BRAND if name.startswith("list_")]
BRAND_WRITES = [name for name in BRAND if ENDPOINTS[name].method != "GET" and not ENDPOINTS[name].file]
WRITING = [name for name, endpoint in ENDPOINTS.items() if endpoint.method != "GET" and endpoint.body is not no_body]
LISTS = ["list_transactions", "list_rewards", "list_redemptions", "list_code_scans", "list_qr_codes", *BRAND_LISTS]
WITH_TOKEN = [
    "credit_action",
    "credit_action (app)",
    "verify_product",
    "scan_code",
    "validate_code",
    "read_scan",
    "adopt_scan",
    "place_scan",
    "read_points",
    "list_transactions",
    "register_device",
    "read_profile",
    "read_consents",
    "give_consent",
    "change_profile",
    "change_email",
    "erase_me",
    "list_campaigns",
    "list_rewards",
    "list_wallets",
    "read_apple_pass",
    "read_google_pass",
    "redeem_reward",
    "claim_reward",
    "claim_reward_by_old_path",
    "undo_redemption",
    "list_redemptions",
    "list_code_scans",
    "list_qr_codes",
    *BRAND,
]
WITH_KEY = [
    "log_in",
    "register",
    "read_legal_texts",
    "forgot_password",
    "credit_action",
    "ingest_event",
    "verify_product",
    "scan_code",
    "validate_code",
    "read_scan",
    "adopt_scan",
    "place_scan",
    "list_code_scans",
    "list_qr_codes",
    *BRAND,
]
WITH_IDEMPOTENCY_KEY = ["credit_action", "credit_action (app)", "verify_product", "scan_code", *BRAND_WRITES]


TABLES = [User, LoginSession, Event, Scan, LoyaltyTransaction, UserPoints, UserLoyaltyCampaign, Redemption]


def row_counts() -> dict[str, Any]:
    """The numbers of all rows that a request can write, in one query."""
    selects = {
        **{model.__name__: f"count(*) FROM {model._meta.db_table}" for model in TABLES},
        "points": f"sum(points) FROM {UserPoints._meta.db_table}",
        "scans": f"sum(scan_count) FROM {AuthCode._meta.db_table}",
        "sessions ended": f"count(revoked_at) FROM {LoginSession._meta.db_table}",
    }
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(f'(SELECT {each})' for each in selects.values())}")
        return dict(zip(selects, cursor.fetchone(), strict=True))


def assert_rejected(
    expected: tuple[int, str], call: Callable[..., Any], *arguments: Any, except_for: Any = None, **named: Any
) -> Any:
    """`call` is answered with `expected` (status, error) in the envelope, and writes no rows `but` these numbers."""
    before = row_counts()

    response = call(*arguments, **named)

    assert error(response) == expected
    assert response["Content-Type"] == "application/json"
    assert response.json()["success"] is False
    assert row_counts() == {**before, **{name: before[name] + count for name, count in (except_for or {}).items()}}
    return response


def with_value(body: Any, path: str, value: Any) -> Any:
    """`body` with `value` at a path such as `order.items.0.quantity`."""
    inner, last = last_step(body, path)
    inner[last] = value
    return body


def without_field(body: Any, path: str) -> Any:
    """`body` without the value at the path."""
    inner, last = last_step(body, path)
    del inner[last]
    return body


def last_step(body: Any, path: str) -> tuple[Any, Any]:
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        body = body[step]
    return body, last


def short(value: Any) -> str:
    """A short name of a case, for a value that may be long."""
    return ascii(value)[:30]
