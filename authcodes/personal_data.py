"""A person's data in this app: scans, lookups of codes, and fake reports."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from authcodes.codes import bulk_changes
from authcodes.models.fake_reports import FakeReport
from authcodes.models.lookups import CodeLookup
from authcodes.models.scans import Scan
from authcodes.recalls import erasure as recall_erasure
from authcodes.rollups import rollups
from authcodes.scanning import guest_scans
from brands.models.people import User
from brands.personal_data import erase_answers_naming, erase_saved_lists_naming
from core.personal_data import Topic, rows, table
from jobs import erasure as job_erasure
from jobs import kinds
from loyalty.members import erasure


def export_scans(user_id: int, brand_id: int) -> Iterator[dict[str, Any]]:
    """The customer's scans at the brand, newest first."""
    scans = Scan.objects.filter(user_id=user_id, brand_id=brand_id).order_by("-scanned_at")
    fields = ("scanned_at", "code", "outcome", "points_awarded", "latitude", "longitude", "location", "device")
    return rows(scans.values(*fields, "app_version"))


def erase_scans(user_id: int, brand_id: int, *, to: int, at: datetime) -> None:
    """Reassign scans to the pseudonym without coordinates and device; remove names from staff's texts and exports.

    Call before the person's own name, address and phone number are removed.
    """
    mentions = erasure.mentions_of(User.objects.get(pk=user_id), brand_id)
    pseudonym = User.objects.get(pk=to).email if to != user_id else "•••"
    bulk_changes.erase_user(brand_id=brand_id, mentions=mentions, pseudonym=pseudonym)
    recall_erasure.erase_user(brand_id=brand_id, mentions=mentions, pseudonym=pseudonym)
    job_erasure.erase_user(user_id=user_id, brand_id=brand_id, to=to, mentions=mentions, pseudonym=pseudonym, at=at)
    erase_saved_lists_naming(brand_id=brand_id, mentions=mentions, lists_of_customers=kinds.lists_of_customers())
    erase_answers_naming(brand_id=brand_id, mentions=mentions)
    guest_scans.erase(user_id=user_id, brand_id=brand_id, to=to)
    if to != user_id:
        rollups.reassign(user_id=user_id, brand_id=brand_id, to=to)


SCANS = Topic(export_scans, erase_scans)
LOOKUPS = table(CodeLookup, "looked_up_at", "code", "reason", order_by=("-lookup_id",), stays=True)
# The text of a report may identify its author.
FAKE_REPORTS = table(FakeReport, "reported_at", "code", "place", "remark", "contact", "state", stays=False)
