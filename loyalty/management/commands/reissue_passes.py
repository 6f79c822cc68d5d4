"""`manage.py reissue_passes`: update all of a brand's wallet passes to its current name, colours, logo and levels."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.wallets import Platform
from loyalty.wallets import issuers, passes


class Command(BaseCommand):
    help = "Give all wallet passes of a brand a new version; each wallet is told once. Safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("brand", metavar="SLUG")
        parser.add_argument("--platform", default="", choices=Platform.values, help="this one only")
        parser.add_argument("--behind", action="store_true", help="only passes whose last change was not delivered")

    def handle(self, *args: Any, **options: Any) -> None:
        brand = Brand.objects.filter(slug=options["brand"]).first()
        if brand is None:
            raise CommandError(f"There is no brand {options['brand']}.")
        if not options["behind"]:
            issuers.change_design(brand_id=brand.pk)
        count = passes.refresh_all(
            brand_id=brand.pk, platform=options["platform"], behind=options["behind"], at=timezone.now()
        )
        self.stdout.write(f"{count} passes are to be updated.")
