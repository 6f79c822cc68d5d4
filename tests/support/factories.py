"""Makes the rows that tests begin with; every argument has a sensible default."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import uuid4

from django.utils import timezone

from authcodes.codes import batches, bulk_changes
from authcodes.codes.batches import BatchSettings
from authcodes.codes.bulk_changes import CodeChangeRequest, Kind
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from brands.audit_log import AuditContext
from brands.models.legal_texts import LegalText
from brands.models.people import User
from brands.models.tenants import Brand, BrandHostname
from brands.tenants import legal_texts
from campaigns.models.campaigns import Campaign, Milestone
from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import EventKind, EventKindField
from campaigns.models.replays import Replay
from events.models import Event
from loyalty.merges import merge as merging
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import AccountMerge, PointTransfer
from loyalty.models.levels import BrandLevel
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.programme.segments import Segment
from loyalty.models.rewards import Redemption, Reward
from loyalty.points import accounts, ledger
from loyalty.rewards import redeem
from loyalty.rewards.redeem import RedemptionRequest

PASSWORD = "correct horse battery"
_number = count(1)


def brand(*, hostname: str | None = None, **fields: Any) -> Brand:
    number = next(_number)
    made = Brand.objects.create(
        **{"name": f"Brand {number}", "slug": f"brand-{number}", "support_email": f"help{number}@example.com", **fields}
    )
    BrandHostname.objects.create(brand=made, hostname=hostname or f"brand{number}.example.com", is_primary=True)
    return made


def legal_text(brand: Brand, *, kind: str = "terms", **fields: Any) -> LegalText:
    made = LegalText.objects.create(brand=brand, kind=kind, **{"text": f"Some {kind}.", **fields})
    legal_texts.mark_brand(brand.pk)
    brand.has_legal_texts = True
    return made


def user(**fields: Any) -> User:
    email = fields.pop("email", f"person{next(_number)}@example.com")
    return User.objects.create_user(email=email, password=fields.pop("password", None), **fields)


def customer(brand: Brand, *, enrolled: bool = True, **fields: Any) -> User:
    made = user(registered_brand=brand, **fields)
    if enrolled:
        accounts.enrol(user_id=made.pk, brand_id=brand.pk, at=timezone.now())
    return made


def account(customer: User, brand: Brand) -> UserPoints:
    return UserPoints.objects.get(user=customer, brand=brand)


def level(brand: Brand, name: str = "Bronze", threshold: Any = 0, kind: str = "points", value: Any = 10) -> BrandLevel:
    return BrandLevel.objects.create(
        brand=brand,
        name=name,
        threshold=Decimal(threshold),
        scan_reward_type=kind,
        scan_reward_value=Decimal(str(value)),
    )


def product(brand: Brand, **fields: Any) -> Product:
    number = next(_number)
    return Product.objects.create(brand=brand, **{"sku": f"SKU-{number}", "title": f"Product {number}", **fields})


def batch(brand: Brand, *, quantity: int = 1, assigned: bool = True, at: Any = None, **settings: Any) -> BatchRange:
    number = next(_number)
    if assigned and "product" not in settings:
        settings["product"] = product(brand)
    batch_fields = {
        "range_name": f"Range {number}",
        "prefix": f"T{number}-",
        "number_width": 4,
        "signed": False,
        **settings,
    }
    made = batches.create_batch(
        brand=brand, batch_settings=BatchSettings(quantity=quantity, **batch_fields), at=at or timezone.now()
    )
    batches.generate(batch_id=made.pk, at=timezone.now())
    made.refresh_from_db()
    return made


def code(brand: Brand, **settings: Any) -> AuthCode:
    return batch(brand, **settings).codes.get()


def expired_code(brand: Brand) -> AuthCode:
    long_ago = timezone.now() - timedelta(days=30)
    return code(brand, expiration_date=brand.day_at(long_ago), at=long_ago)


def campaign(brand: Brand, **fields: Any) -> Campaign:
    return Campaign.objects.create(brand=brand, **{"campaign_name": "Scan and win", "target_value": 5, **fields})


def milestone(campaign: Campaign, threshold: int, **fields: Any) -> Milestone:
    return Milestone.objects.create(campaign=campaign, threshold=threshold, **{"reward_name": "A mug", **fields})


def earning_rule(brand: Brand, kind: str, value: Any = 5, reward_type: str = "points", **fields: Any) -> EarningRule:
    return EarningRule.objects.create(
        brand=brand, kind=kind, reward_type=reward_type, reward_value=Decimal(str(value)), **fields
    )


def segment(brand: Brand, *rows: tuple[str, str, Any], **fields: Any) -> Segment:
    """A segment of the members who fulfil all conditions, each a field, an operator and a value."""
    conditions = {"all": [{"field": name, "operator": operator, "value": value} for name, operator, value in rows]}
    values = {"name": f"Segment {next(_number)}", "conditions": conditions if rows else {}, **fields}
    return Segment.objects.create(brand=brand, **values)


def broadcast(brand: Brand, segment: Segment | None = None, *, body: str = "Hello!", **fields: Any) -> Broadcast:
    """A draft in English, by e-mail."""
    parts = {"subject": "News", "body": body, "short_text": "Short news"}
    defaults: dict[str, Any] = {"name": "Spring", "channels": ["email"], "texts": {"en": parts}}
    defaults["segment_name"] = segment.name if segment else ""
    return Broadcast.objects.create(brand=brand, segment=segment, **{**defaults, **fields})


def reward(brand: Brand, *, cost: Any = 10, **fields: Any) -> Reward:
    number = next(_number)
    price = None if cost is None else Decimal(str(cost))
    return Reward.objects.create(brand=brand, cost=price, **{"name": f"Reward {number}", **fields})


def event_kind(brand: Brand, name: str = "store-visit", title: str = "Store visit", **types: Any) -> EventKind:
    """An event kind of the brand. `types` has the type of each field, or its options."""
    kind = EventKind.objects.create(brand=brand, name=name, title=title)
    for field, type_or_options in types.items():
        options = list(type_or_options) if isinstance(type_or_options, list | tuple) else []
        type_ = "option" if options else type_or_options
        EventKindField.objects.create(kind=kind, name=field, label=field.capitalize(), type=type_, options=options)
    return kind


def replay(brand: Brand, **fields: Any) -> Replay:
    """A replay of past actions with other levels, without a result."""
    at = timezone.now()
    return Replay.objects.create(
        brand=brand,
        kind="levels",
        name="Levels",
        content={"levels": [["Bronze", "0", "points", "1"]]},
        since=at - timedelta(days=1),
        until=at,
        expires_at=at + timedelta(days=1),
        **fields,
    )


def hub_event(brand: Brand, customer: User) -> Event:
    """An event of a kind of the brand, as a hub sends it."""
    return Event.objects.create(
        brand=brand,
        source="shop.customer-app",
        detail_type="shop-visit",
        status=Event.Status.IGNORED,
        detail={"arguments": {"brand_id": brand.pk, "user_id": customer.pk}, "payload": {"floor": 2}},
    )


def points(customer: User, brand: Brand, amount: Any, *, reason_id: str = "", at: Any = None) -> None:
    """Points that the customer earned."""
    ledger.credit(
        account=account(customer, brand).pk,
        points=Decimal(str(amount)),
        reason_id=reason_id or f"shop:{next(_number)}",
        note="For you",
        at=at or timezone.now(),
    )


def transfer(sender: UserPoints, receiver: UserPoints, points: Any = 1, *, at: Any = None) -> PointTransfer:
    """The row of a transfer of points, without ledger entries."""
    return PointTransfer.objects.create(
        brand=sender.brand,
        sender=sender,
        receiver=receiver,
        points=Decimal(str(points)),
        balance_after=0,
        request_key=uuid4(),
        created_at=at or timezone.now(),
    )


def merge(target: User, source: User, brand: Brand) -> AccountMerge:
    """The account of `source` merged into that of `target`."""
    return merging.merge(
        target=account(target, brand),
        source=account(source, brand),
        key=uuid4(),
        audit_context=AuditContext(None, timezone.now(), reason="One person"),
    )


def redemption(customer: User, reward: Reward, *, at: Any = None) -> Redemption:
    """A reward that the customer redeems with points that they have."""
    redemption_request = RedemptionRequest(reward.brand_id, customer.pk, reward.pk, uuid4(), at or timezone.now())
    return redeem.redeem(redemption_request)


def deactivate(*, codes: Iterable[AuthCode], at: datetime, reason: str = "", by: User | None = None) -> int:
    """Switch codes off. Returns how many were on."""
    change_request = CodeChangeRequest(Kind.DEACTIVATED, reason)
    return bulk_changes.change_codes(codes=codes, requested=change_request, by=by, at=at)


def reactivate(*, codes: Iterable[AuthCode], at: datetime, reason: str = "") -> int:
    """Switch codes on again. Returns how many were off."""
    return bulk_changes.change_codes(codes=codes, requested=CodeChangeRequest(Kind.REACTIVATED, reason), by=None, at=at)
