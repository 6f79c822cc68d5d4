"""Creates three months of a demo brand's history, by moving the clock of this process."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import time_machine
from django.db.models import F

from authcodes.rollups import rollups
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from campaigns.models.replays import EarningTerms
from config.demo.data import PLANS
from config.demo.history import History
from config.demo.incidents import Incidents
from loyalty.members.listing.refresh import refresh
from loyalty.models.members.listed_members import ListedMembersMark
from loyalty.programme import rollups as programme

# Events are delivered at least this often, so that later actions find the points of earlier ones.
DELIVERED_AFTER = timedelta(hours=8)


def has_only_demo_brands() -> bool:
    """Whether all brands are the demo's: waiting events of any brand would be delivered at past moments."""
    return not Brand.objects.exclude(slug__in=[plan.slug for plan in PLANS]).exists()


def create_history(brand: Brand, *, domain: str, until: datetime) -> None:
    """Create the three months before `until`. Call in a transaction of its own."""
    history = History(brand, domain, until)
    Brand.objects.filter(pk=brand.pk).update(created_at=history.began)
    # Its levels must apply from the start, otherwise a replay would compute other points than were paid.
    earlier = F("valid_from") - (until - history.began) - timedelta(days=1)
    EarningTerms.objects.filter(brand=brand).update(valid_from=earlier)
    Campaign.objects.running(until).filter(brand=brand).update(starts_at=history.began)
    happening = sorted([*history.actions(), *Incidents(history).actions()], key=lambda each: each[0])
    with time_machine.travel(history.began, tick=False) as clock:
        delivered = history.began
        for moment, act in happening:
            clock.move_to(moment, tick=False)
            if moment - delivered > DELIVERED_AFTER:
                history.deliver()
                delivered = moment
            act(moment)
        clock.move_to(until, tick=False)
        history.deliver()
    history.print_labels()


def catch_up(brands: Iterable[Brand], *, at: datetime) -> None:
    """Do at once what jobs do for closed days within minutes. Call outside a transaction."""
    for brand in brands:
        rollups.catch_up(brand=brand, at=at)
        programme.catch_up(brand=brand, at=at)
    ListedMembersMark.objects.all().delete()  # the history lies before the mark of the last refresh
    refresh(at=at)
