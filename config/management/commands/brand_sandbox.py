"""`manage.py brand_sandbox`: make a sandbox brand with the configuration of a file."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from config.brand_files import commands, sandboxes

REASON = "Command line: manage.py brand_sandbox"


class Command(BaseCommand):
    help = "Make a sandbox brand from the file of another brand. Its webhooks are switched off."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="NEW_SLUG")
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--name", default="", help="what it is called; else its slug")

    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["slug"]
        with commands.reported():
            file = commands.file_at(options["file"])
            brand = sandboxes.create(slug=slug, name=options["name"] or slug, file=file, reason=REASON)
        self.stdout.write(f"The sandbox {brand.slug} is brand {brand.pk}. Give it hostnames and staff in the portal.")
