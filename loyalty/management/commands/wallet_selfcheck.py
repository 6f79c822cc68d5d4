"""`manage.py wallet_selfcheck`: report what is missing, expiring or failing in the brands' wallets."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.wallets.selfcheck import Severity, findings


class Command(BaseCommand):
    help = "Name what is missing, ending or failing in wallets. Exits with 0, 1 (warnings) or 2 (critical)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--brand", default="", metavar="SLUG", help="this brand only; it should offer passes")

    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["brand"]
        if slug and not Brand.objects.filter(slug=slug).exists():
            raise CommandError(f"There is no brand {slug}.", returncode=int(Severity.CRITICAL))
        rows = list(findings(at=timezone.now(), slug=slug))
        for each in rows:
            self.stdout.write(str(each))
        worst = max((each.severity for each in rows), default=Severity.OK)
        if worst:
            count = sum(1 for each in rows if each.severity)
            raise CommandError(f"{count} to look at.", returncode=int(worst))
        self.stdout.write("Wallets are in order." if rows else "No brand offers wallet passes.")
