"""The states of a campaign (off, planned, running, ended), and the changes between them."""

from datetime import datetime
from enum import Enum

from campaigns.models.campaigns import Campaign


class State(Enum):
    """The state by dates and switch. A used-up budget does not change it: milestones then pay nothing."""

    OFF = "off"
    PLANNED = "planned"
    RUNNING = "running"
    ENDED = "ended"


# The states in which each action is allowed.
ACTS: dict[str, set[State]] = {
    "resume": {State.OFF},
    "pause": {State.PLANNED, State.RUNNING},
    "end": {State.RUNNING},
}


def state_of(campaign: Campaign, *, at: datetime) -> State:
    """An ended campaign is ENDED even if it is switched off."""
    if is_over(campaign, at=at):
        return State.ENDED
    if not campaign.is_active:
        return State.OFF
    return State.PLANNED if campaign.starts_at is not None and campaign.starts_at > at else State.RUNNING


def has_started(campaign: Campaign, *, at: datetime) -> bool:
    """Whether its start has passed; False without a start."""
    return campaign.starts_at is not None and campaign.starts_at <= at


def is_over(campaign: Campaign, *, at: datetime) -> bool:
    return campaign.ends_at is not None and campaign.ends_at <= at


def locked(campaign_id: int) -> Campaign:
    """The current row, locked until the transaction ends."""
    return Campaign.objects.select_for_update(no_key=True, of=("self",)).select_related("brand").get(pk=campaign_id)


def act(campaign: Campaign, name: str, *, at: datetime) -> bool:
    """Change the state if `at` allows it; False if it does not. Call with the campaign locked."""
    if state_of(campaign, at=at) not in ACTS[name]:
        return False
    if name == "end":
        campaign.ends_at = at
        campaign.save(update_fields=["ends_at"])
    elif name == "pause":
        campaign.is_active = False
        campaign.save(update_fields=["is_active"])
    else:
        launch(campaign, at=at)
        campaign.save(update_fields=["is_active", "starts_at"])
    return True


def launch(campaign: Campaign, *, at: datetime) -> None:
    """Activate the campaign; the caller saves it. Without `starts_at` it starts now, unless it has begun or is over."""
    campaign.is_active = True
    if campaign.starts_at is None and not is_over(campaign, at=at) and not has_begun(campaign):
        campaign.starts_at = at


def has_begun(campaign: Campaign) -> bool:
    """Whether a member takes part in it."""
    return campaign.pk is not None and campaign.progress_rows.exists()


def was_launched(campaign: Campaign, *, at: datetime) -> bool:
    """Whether it has started or has participants. A launch sets the start of a campaign that has none."""
    return has_started(campaign, at=at) or has_begun(campaign)
