"""`manage.py brand_plan`: show how a file differs from a brand, without changes."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from config.brand_files import applying, commands

HAS_CHANGES = 2


class Command(BaseCommand):
    help = "Show what brand_apply would do. Exit code 0: no changes; 2: changes; 1: the file cannot be applied."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("brand", metavar="BRAND", help="its slug")
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--prune", action="store_true", help="also switch off or delete what the file lacks")

    def handle(self, *args: Any, **options: Any) -> None:
        with commands.reported():
            brand, file = commands.brand_of(options["brand"]), commands.file_at(options["file"])
            steps = applying.plan(brand, file, prune=options["prune"])
        if commands.show(steps, self.stdout):
            sys.exit(HAS_CHANGES)
