"""`manage.py brand_apply`: make a brand what a file says, all of it or nothing."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.brand_files import applying, commands

REASON = "Command line: manage.py brand_apply"


class Command(BaseCommand):
    help = "Apply a file to a brand in one transaction. Without --yes it shows the changes and asks first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("brand", metavar="BRAND", help="its slug")
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--prune", action="store_true", help="also switch off or delete what the file lacks")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        with commands.reported():
            brand, file = commands.brand_of(options["brand"]), commands.file_at(options["file"])
            planned = None
            if not options["yes"]:
                planned = applying.plan(brand, file, prune=options["prune"])
                if not commands.show(planned, self.stdout):
                    return
                self.ask()
            steps = applying.apply(brand, file, prune=options["prune"], reason=REASON, planned=planned)
        if options["yes"]:
            commands.show(steps, self.stdout)
        else:
            self.stdout.write("Applied.")

    def ask(self) -> None:
        """Raises CommandError for any answer but yes."""
        try:
            answer = input("Apply this? [y/N] ")
        except EOFError:
            answer = ""
        if answer.strip().lower() not in {"y", "yes"}:
            raise CommandError("Nothing was changed. Answer y, or give --yes.")
