"""The events that follow from an accrual: for wallets, notifications, rewards and webhooks."""

from typing import Any

from campaigns.accrual.snapshot import AccrualSnapshot
from campaigns.accrual.types import AccrualResult, QualifyingAction, serialize_progress
from campaigns.progress.advance import MilestoneState
from core import json_values
from core.json_values import json_number
from events import messages
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType
from loyalty.points.balance_events import balance_changed

TEMPLATE = "NOTIFY_CAMPAIGN_SUCCESS"


def followup_events(
    event: messages.LeasedEvent, action: QualifyingAction, result: AccrualResult, state: AccrualSnapshot
) -> list[messages.NewEvent]:
    """Step 11: the events for wallets, notifications, rewards and webhooks, each delivered separately."""
    if result.transaction_id is None:
        return []
    arguments = {"brand_id": action.brand_id, "user_id": action.user_id}

    def new_event(kind: str, cause: str, payload: dict[str, Any], *, has_consumer: bool = True) -> messages.NewEvent:
        return messages.NewEvent(
            kind=kind,
            payload={**payload, "cause": str(event.event_id)},
            arguments=arguments,
            event_id=event.following_id(cause),
            has_consumer=has_consumer,
        )

    assert state.account is not None  # noqa: S101 - a ledger entry has an account
    balance = balance_changed(
        brand_id=action.brand_id,
        user_id=action.user_id,
        account=state.account,
        points=result.new_balance,
        level=result.current_level,
        level_updated=result.level_updated,
        cause=str(event.event_id),
        has_consumer=state.has_passes,
        event_id=event.following_id("balance-changed"),
    )
    notification = {
        "template": TEMPLATE,
        "points_earned": json_number(result.points_earned),
        "new_balance": json_number(result.new_balance),
        "transaction_id": str(result.transaction_id),
        "note": result.entries[-1].note,
        "level_updated": result.level_updated,
        "current_level": result.current_level,
        "campaigns": [serialize_progress(step) for step in result.progress],
        "rewards": [
            {
                "milestone_id": milestone.milestone_id,
                "reward_name": milestone.reward_name,
                "campaign_name": step.campaign.campaign_name,
                **_round_of(milestone),
            }
            for step in result.progress
            for milestone in step.newly_reached
            if milestone.is_thing or not milestone.auto_claim
        ],
    }
    rewards = [
        new_event(
            "reward-claimed",
            ":".join(["reward-claimed", str(milestone.milestone_id), *map(str, _round_of(milestone).values())]),
            {
                "type": "reward",
                "milestone_id": milestone.milestone_id,
                "campaign_id": step.campaign.campaign_id,
                "reward_name": milestone.reward_name,
                "points": str(milestone.reward_points),
                **_round_of(milestone),
            },
        )
        for step in result.progress
        for milestone in step.newly_reached
        if milestone.auto_claim
    ]
    followups = [
        balance,
        new_event(
            "notify", "notify", notification, has_consumer=state.sends_notifications and is_worth_sending(notification)
        ),
        *rewards,
    ]
    return followups + webhook_events_of(event, action, result, state) if state.listened else followups


def is_worth_sending(notification: dict[str, Any]) -> bool:
    """Whether the customer gained something: progress alone is not worth a notification."""
    return bool(notification["points_earned"] or notification["level_updated"] or notification["rewards"])


def _round_of(milestone: MilestoneState) -> dict[str, int]:
    """The round, from the second one of a repeatable campaign on."""
    return {"round": milestone.round} if milestone.round > 1 else {}


def webhook_events_of(
    event: messages.LeasedEvent, action: QualifyingAction, result: AccrualResult, state: AccrualSnapshot
) -> list[messages.NewEvent]:
    """Events for webhooks that are subscribed to credits and what follows from them."""
    credit = webhook_events.Credit(
        brand_id=action.brand_id,
        user_id=action.user_id,
        points_earned=json_number(result.points_earned),
        new_balance=json_number(result.new_balance),
        lifetime_points=json_number(state.lifetime + result.points_earned),
        transaction_id=str(result.transaction_id),
        reason_ids=[entry.reason_id for entry in result.entries],
        note=result.entries[-1].note,
        current_level=result.current_level,
        level_updated=result.level_updated,
        cause=str(event.event_id),
        at=action.at,
    )
    events = webhook_events.of_credit(credit, listened=state.listened, ids=event.following_id)
    kind = WebhookType.POINTS_PENDING
    if result.points_pending and kind in state.listened:
        data = {
            "points_pending": json_number(result.points_pending),
            "release_at": json_values.iso(result.release_at) if result.release_at else None,
            "new_balance": json_number(result.new_balance),
            "transaction_id": str(result.transaction_id),
            "reason_ids": credit.reason_ids,
            "note": credit.note,
            "current_level": credit.current_level,
            "cause": credit.cause,
        }
        pending = webhook_events.webhook_event(
            kind,
            data,
            brand_id=action.brand_id,
            user_id=action.user_id,
            event_id=event.following_id(f"announce:{kind}"),
            at=action.at,
        )
        events.append(pending)
    return events
