"""Timeline entries for ledger entries and level changes."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from loyalty.admin import ledger as page
from loyalty.admin.member_page.other_lines import source
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import LevelChange
from loyalty.points import ledger
from portal.lists import local_time
from portal.lists.number_columns import format_points
from portal.timeline.sources import Subject, TimelineItem, address_of

NAMED_BY_TITLE = ("milestone:", "order:")  # reasons whose notes name the reward and the order


def entries(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    rows = list(LoyaltyTransaction.objects.filter(pk__in=ids))
    people = page.adjusters(subject.accounts, rows)
    return {str(row.pk): entry_line(subject, row, people.get(row.pk, "")) for row in rows}


def entry_line(subject: Subject, row: LoyaltyTransaction, adjuster: str) -> TimelineItem:
    """What earned the points, and why that many."""
    details = [_("by %(person)s") % {"person": adjuster}] if adjuster else []
    if row.note and not (page.is_adjustment(row) or row.reason_id.startswith((ledger.TAKEN, *NAMED_BY_TITLE))):
        details.append(row.reason_id)
    return TimelineItem(
        when=local_time.display_moment(row.created_at, subject.brand.zone),
        icon="toll",
        title=page.note_of(row) or row.reason_id,
        address=address_of(row),
        state=page.state_of(row),
        details=[*details, *page.why_of(row)],
        change=row.change,
        points=format_points(page.points_of(row)),
        merge_key=merge_key(row),
    )


def merge_key(row: LoyaltyTransaction) -> str:
    """The key of the timeline line to merge with: by scan code, by redemption, or by ledger entry for an adjustment."""
    if page.is_adjustment(row):
        return f"entry:{row.pk}"
    if ":" not in row.reason_id:
        return f"scan:{row.reason_id}"
    return row.reason_id if row.reason_id.startswith(ledger.TAKEN) else ""


def changes(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    return {str(row.pk): change_line(subject, row) for row in LevelChange.objects.filter(pk__in=ids)}


def change_line(subject: Subject, row: LevelChange) -> TimelineItem:
    names = dict.fromkeys(each or _("No level") for each in (row.level_before, row.level_after))
    until = local_time.day_text(row.level_until) if row.level_until else ""
    return TimelineItem(
        when=local_time.display_moment(row.created_at, subject.brand.zone),
        icon="military_tech",
        title=" > ".join(names),
        address=address_of(row),
        details=[
            row.get_reason_display(),
            format_points(row.points),
            *([_("until %(day)s") % {"day": until}] if until else []),
        ],
    )


POINTS = source("points", gettext_lazy("Points"), "loyalty.loyaltytransaction", entries)
LEVELS = source("levels", gettext_lazy("Levels"), "loyalty.levelchange", changes)
