"""`manage.py check_rollups`: prove that what the dashboard reads is what the scans say."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from authcodes.rollups import consistency


class Command(BaseCommand):
    help = "Compare the rollups with the scans; exit with 1 and the differences if they disagree."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        found = list(consistency.differences())
        for each in found:
            self.stdout.write(f"{each.about}: {each.check}: expected {each.expected}, found {each.actual}")
        if found:
            raise CommandError(f"{len(found)} differences; rebuild_rollups mends them.")
        self.stdout.write("Rollups and scans agree.")
