"""`manage.py expire_points`: expire points now, for brands whose nightly run is not done."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.points import expiry


class Command(BaseCommand):
    help = "Expire points that are past their time today, and warn of those that soon will be. Safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--brand", metavar="SLUG", help="of this brand only")

    def handle(self, *args: Any, **options: Any) -> None:
        brands = Brand.objects.exclude(points_expire=Brand.Expiry.NEVER).order_by("slug")
        if options["brand"]:
            brands = brands.filter(slug=options["brand"])
            if not brands:
                message = f"No brand {options['brand']!r} whose points expire."
                raise CommandError(message)
        for brand in brands:
            changed = expiry.run(brand=brand, at=timezone.now())
            self.stdout.write(f"{brand.slug}: points of {changed} members expired.")
