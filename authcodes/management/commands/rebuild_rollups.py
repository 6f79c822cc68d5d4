"""`manage.py rebuild_rollups`: build the rollups again from the scans and the ledger."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from authcodes.rollups import rollups
from brands.models.tenants import Brand
from loyalty.programme import rollups as programme


class Command(BaseCommand):
    help = (
        "Build the rollups of closed days again from the scans and the ledger. In the meantime, the dashboards read "
        "those themselves."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("brand", nargs="*", help="slugs of brands; without any, all brands")

    def handle(self, *_args: Any, **options: Any) -> None:
        slugs = set(options["brand"])
        brands = Brand.objects.filter(slug__in=slugs) if slugs else Brand.objects.all()
        if unknown := slugs - {brand.slug for brand in brands}:
            raise CommandError(f"No brand has the slug {', '.join(sorted(unknown))}. Nothing was rebuilt.")
        for brand in brands:
            days = rollups.rebuild(brand=brand, at=timezone.now())
            books = programme.rebuild(brand=brand, at=timezone.now())
            self.stdout.write(f"{brand.slug}: {days} days of scans and {books} of points rolled up.")
