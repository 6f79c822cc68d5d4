"""The platform's main task in plain Django ORM with one Celery task per scan: the baseline to beat.

It writes the same rows (scan, stored event, ledger, balance, progress, level, follow-up events) with the usual
means, and does less: no rate limit, no signed codes, no recall, no idempotency, no retries, no point limits.
"""

import uuid
from typing import Any

from celery import shared_task
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from brands.models.people import User
from campaigns.accrual.followups import TEMPLATE
from campaigns.models.campaigns import Campaign, RewardClaim, UserLoyaltyCampaign
from core.json_values import json_number
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel

KIND = "bench-scan"


def scan(*, code: str, user: User, brand_id: int, place: dict[str, Any]) -> dict[str, Any]:
    """Use one of the code's scans, record the scan, store its event; the accrual follows in Celery."""
    at = timezone.now()
    with transaction.atomic():
        codes = AuthCode.objects.select_related("batch", "product").select_for_update(of=("self",))
        auth_code = codes.get(code=code, brand_id=brand_id, deactivated_at=None)
        limit = auth_code.batch.scan_limit
        if limit is not None and auth_code.scan_count >= limit:
            return {"success": True, "status": "warning"}
        level = level_of(user.pk, brand_id)
        auth_code.scan_count += 1
        auth_code.first_scan_at = auth_code.first_scan_at or at
        auth_code.save(update_fields=["scan_count", "first_scan_at"])
        made = Scan.objects.create(
            brand_id=brand_id,
            auth_code=auth_code,
            code=auth_code.code,
            user=user,
            batch=auth_code.batch,
            product=auth_code.product,
            outcome=Scan.Outcome.SUCCESS,
            reason=Scan.Reason.ACCEPTED,
            points_status=Scan.PointsStatus.PENDING,
            points_promised=level.scan_reward_value,
            scan_count=auth_code.scan_count,
            latitude=place.get("latitude"),
            longitude=place.get("longitude"),
            located_at=at,  # keeps the platform's own worker from geocoding it
            scanned_at=at,
        )
        store_event(KIND, brand_id, user.pk, {"authCode": auth_code.code, "title": auth_code.product.title}, made.pk)
        transaction.on_commit(lambda: accrue.delay(str(made.pk)))
    return {
        "success": True,
        "status": "success",
        "scan_id": str(made.pk),
        "points_awarded": json_number(level.scan_reward_value),
        "scan_count": auth_code.scan_count,
        "product": {"id": auth_code.product.pk, "name": auth_code.product.title, "sku": auth_code.product.sku},
    }


def level_of(user_id: int, brand_id: int) -> BrandLevel:
    level_name = UserPoints.objects.get(user_id=user_id, brand_id=brand_id).current_level
    return BrandLevel.objects.get(brand_id=brand_id, name=level_name)


def store_event(kind: str, brand_id: int, user_id: int, payload: dict[str, Any], event_id: uuid.UUID) -> Event:
    """Stored as ignored, so that the platform's own worker skips it."""
    return Event.objects.create(
        event_id=event_id,
        source="bench",
        detail_type=kind,
        brand_id=brand_id,
        status=Event.Status.IGNORED,
        detail={"arguments": {"brand_id": brand_id, "user_id": user_id}, "payload": payload},
    )


@shared_task
def accrue(scan_id: str) -> None:
    """Ledger entry, balance, progress, milestones, level, and the events that follow: one commit."""
    with transaction.atomic():
        made = Scan.objects.select_related("brand", "product").get(pk=scan_id)
        event = Event.objects.get(brand=made.brand, source="bench", event_id=made.pk)
        account = UserPoints.objects.select_for_update().get(user_id=made.user_id, brand=made.brand)
        if LoyaltyTransaction.objects.filter(user_point=account, reason_id=made.code).exists():
            return
        line = LoyaltyTransaction.objects.create(
            user_point=account,
            points_earned=made.points_promised,
            reason=LoyaltyTransaction.Reason.EARNED,
            reason_id=made.code,
            note=f"Points for scanning {made.product.title}",
        )
        account.points = F("points") + made.points_promised
        account.points_earned = F("points_earned") + made.points_promised
        account.save(update_fields=["points", "points_earned"])
        account.refresh_from_db()
        progress = advance(made)
        promote(account)
        balance = {"points": json_number(account.points), "current_level": account.current_level}
        notification = {**balance, "template": TEMPLATE, "transaction_id": str(line.pk), "campaigns": progress}
        store_event("balance-changed", made.brand_id, made.user_id, balance, uuid.uuid4())
        store_event("notify", made.brand_id, made.user_id, notification, uuid.uuid4())
        made.points_status = Scan.PointsStatus.AWARDED
        made.points_awarded = made.points_promised
        made.save(update_fields=["points_status", "points_awarded"])
        event.status = Event.Status.DONE
        event.outcome = notification
        event.finished_at = timezone.now()
        event.save(update_fields=["status", "outcome", "finished_at"])


def advance(made: Scan) -> list[dict[str, Any]]:
    lines = []
    for campaign in Campaign.objects.running(timezone.now()).filter(brand=made.brand, type=Campaign.Type.SCAN):
        member_progress, new = UserLoyaltyCampaign.objects.select_for_update().get_or_create(
            user=made.user, campaign=campaign
        )
        if not new:
            member_progress.progress += 1
        for milestone in campaign.milestones.filter(threshold__lte=member_progress.progress):
            if milestone.pk not in member_progress.milestones_achieved:
                member_progress.milestones_achieved.append(milestone.pk)
                now = timezone.now()
                claim = {"status": RewardClaim.Status.CLAIMED, "claimed_at": now}
                RewardClaim.objects.get_or_create(milestone=milestone, user=made.user, defaults=claim)
        member_progress.save()
        lines.append(
            {"campaign_id": campaign.pk, "progress": int(member_progress.progress), "target": campaign.target_value}
        )
    return lines


def promote(account: UserPoints) -> None:
    reached = BrandLevel.objects.filter(brand=account.brand_id, threshold__lte=account.points_earned)
    top = reached.order_by("-threshold").first()
    if top and top.name != account.current_level:
        account.current_level = top.name
        account.save(update_fields=["current_level"])
