"""In a customer's timeline: what staff did to the customer's accounts, and why."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands import audit_log
from brands.models.audit import AuditLogEntry
from core.db import statements
from portal.lists import local_time
from portal.timeline.sources import Subject, TimelineItem, TimelineSource, address_of

ENTRY = "ledger line"  # in the audit log, for adjustments: the ledger entry they created


def describe(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    entries = AuditLogEntry.objects.filter(pk__in=ids).select_related("user", "api_key")
    return {str(entry.pk): line_of(subject, entry) for entry in entries}


def line_of(subject: Subject, entry: AuditLogEntry) -> TimelineItem:
    made = entry.changes.get(ENTRY)
    details = [text for text in (actor_of(entry), entry.reason) if text]
    if not made:
        details += [f"{each.field}: {each.before} > {each.after}" for each in audit_log.changed_fields(entry)]
    return TimelineItem(
        when=local_time.display_moment(entry.at, subject.brand.zone),
        icon="badge",
        title=_(entry.action),
        address=address_of(entry),
        details=details,
        merge_key=f"entry:{made[1]}" if made else "",
    )


def actor_of(entry: AuditLogEntry) -> str:
    if entry.user:
        return _("by %(person)s") % {"person": entry.user.get_full_name() or entry.user.email}
    return _("by the API key %(name)s") % {"name": entry.api_key} if entry.api_key else ""


STAFF_ACTS = TimelineSource(
    name="staff",
    title=gettext_lazy("Staff"),
    label="brands.auditlogentry",
    branch=statements.part("portal/timeline/sql/acts_on_customer.sql"),
    describe=describe,
)
