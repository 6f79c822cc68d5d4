"""Updates the sort keys of the list of members. The only code that writes ListedMember, except an erasure."""

from datetime import UTC, datetime, timedelta
from functools import cache

from django.conf import settings
from django.db import connection, transaction
from django.utils.module_loading import import_string

from core.db import row_guard
from core.db.statements import Command, command
from loyalty.models.members.listed_members import ListedMember, ListedMembersMark

# Finds rows of transactions that began before a run and committed after it.
OVERLAP = timedelta(minutes=10)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@cache
def statement() -> Command:
    """The statement, including the CTE that finds customers who scanned (settings.MEMBERS_SEEN)."""
    seen: str = import_string(settings.MEMBERS_SEEN)
    return command("loyalty/members/listing/sql/refresh_listed_members.sql", seen=seen)


def refresh(*, at: datetime) -> int:
    """Update the sort keys, one run at a time. Returns the number of changed members."""
    with row_guard.disabled("the lists of all brands are brought up to date at once"), transaction.atomic():
        ListedMembersMark.objects.get_or_create(pk=1, defaults={"until": LONG_AGO})
        mark = ListedMembersMark.objects.select_for_update(skip_locked=True).first()
        if mark is None:  # another run is active
            return 0
        with connection.cursor() as cursor:  # the first run after a long pause reads all members
            cursor.execute("SELECT set_config('statement_timeout', '0', true)")
        changed = statement().run(since=mark.until - OVERLAP)
        mark.until = at
        mark.save(update_fields=["until"])
    return changed


def erase(*, user_id: int, brand_id: int) -> None:
    """Delete the name and the address at once.

    The next run adds the pseudonym's row, and corrects what a concurrent run may have written.
    """
    ListedMember.objects.filter(account__user_id=user_id, brand_id=brand_id).delete()
