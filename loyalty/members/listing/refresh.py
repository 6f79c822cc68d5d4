"""Keeps what the list of members is sorted by. The only code that writes ListedMember, but for an erasure."""

from datetime import UTC, datetime, timedelta
from functools import cache

from django.conf import settings
from django.db import connection, transaction
from django.utils.module_loading import import_string

from core.db import row_guard
from core.db.statements import Command, command
from loyalty.models.members.listed_members import ListedMember, ListedMembersMark

# Who began to write before a run and commits after it is found by the next one.
OVERLAP = timedelta(minutes=10)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@cache
def statement() -> Command:
    """With what finds the customers who scanned: settings.MEMBERS_SEEN, a whole CTE."""
    seen: str = import_string(settings.MEMBERS_SEEN)
    return command("loyalty/members/listing/sql/refresh_listed_members.sql", seen=seen)


def refresh(*, at: datetime) -> int:
    """Bring the sort keys up to date, one run at a time; returns how many members' changed."""
    with row_guard.disabled("the lists of all brands are brought up to date at once"), transaction.atomic():
        ListedMembersMark.objects.get_or_create(pk=1, defaults={"until": LONG_AGO})
        mark = ListedMembersMark.objects.select_for_update(skip_locked=True).first()
        if mark is None:  # another run is at it
            return 0
        with connection.cursor() as cursor:  # the first run after a long rest has all members to look at
            cursor.execute("SELECT set_config('statement_timeout', '0', true)")
        changed = statement().run(since=mark.until - OVERLAP)
        mark.until = at
        mark.save(update_fields=["until"])
    return changed


def erase(*, user_id: int, brand_id: int) -> None:
    """Forget the name and the address at once.

    The pseudonym's row follows with the next run, which also corrects what a run at the same moment may have written.
    """
    ListedMember.objects.filter(account__user_id=user_id, brand_id=brand_id).delete()
