"""`manage.py check_ledger`: check that balances, ledger, progress, events and scans agree."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from authcodes.scanning import consistency


class Command(BaseCommand):
    help = "Compare balances, ledger, progress, events and scans; exit with 1 and the differences if they disagree."

    def handle(self, *args: Any, **options: Any) -> None:
        rows = list(consistency.differences())
        for each in rows:
            self.stdout.write(f"{each.subject}: {each.check}: expected {each.expected}, found {each.actual}")
        if rows:
            raise CommandError(f"{len(rows)} differences.")
        self.stdout.write("Balances, ledger, progress, events and scans agree.")
