"""`manage.py brand_export`: write a brand's configuration as YAML to standard output."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from config.brand_files import commands, writing


class Command(BaseCommand):
    help = "Write what a brand's staff configure as YAML: no keys, secrets, hostnames, members or codes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("brand", metavar="BRAND", help="its slug")

    def handle(self, *args: Any, **options: Any) -> None:
        with commands.reported():
            self.stdout.write(writing.write(commands.brand_of(options["brand"])), ending="")
