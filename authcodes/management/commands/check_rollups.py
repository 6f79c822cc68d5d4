"""`manage.py check_rollups`: check that rollups match the scans and the ledger."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from authcodes.rollups import consistency
from loyalty.programme import consistency as programme


class Command(BaseCommand):
    help = "Compare the rollups with the scans and the ledger; exit with 1 and the differences if they disagree."

    def handle(self, *args: Any, **options: Any) -> None:
        result = [*consistency.differences(), *programme.differences()]
        for each in result:
            self.stdout.write(f"{each.subject}: {each.check}: expected {each.expected}, found {each.actual}")
        if result:
            raise CommandError(f"{len(result)} differences; rebuild_rollups mends them.")
        self.stdout.write("Rollups, scans and ledger agree.")
