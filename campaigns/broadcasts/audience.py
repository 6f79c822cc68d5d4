"""Counts how many members a broadcast goes to, and by which channels they can be reached."""

from collections.abc import Sequence
from dataclasses import dataclass

from brands.models.tenants import Brand
from core.db.statements import query
from core.db.timeouts import rollback_on_timeout
from loyalty.models.notifications import Channel
from loyalty.models.programme.segments import Segment
from loyalty.notifications import delivery


@dataclass(frozen=True, slots=True)
class Audience:
    """The number of members, of those reachable by each channel, and of those reachable by any chosen channel."""

    members: int
    email: int
    sms: int
    push: int
    reachable: int

    def of(self, channel: str) -> int:
        return {Channel.EMAIL.value: self.email, Channel.SMS.value: self.sms, Channel.PUSH.value: self.push}[channel]


COUNT_AUDIENCE = query("campaigns/broadcasts/sql/count_audience.sql", returns=Audience)


def count(*, brand: Brand, segment: Segment | None, channels: Sequence[str]) -> Audience | None:
    """Count by the segment's last evaluation. None if counting exceeds a page's statement timeout."""
    with rollback_on_timeout():
        return COUNT_AUDIENCE.first(
            brand_id=brand.pk, segment_id=segment.pk if segment else None, channels=usable(brand.pk, channels)
        )
    return None


def usable(brand_id: int, channels: Sequence[str]) -> list[str]:
    """Those of the channels that the brand has set up and switched on."""
    ready = delivery.channels_of(delivery.settings_of(brand_id))
    return [channel for channel in channels if channel in ready]
