"""`manage.py demo`: makes the demo or finds it, and tells people (or with --json programs) how to get in."""

import json
import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from authcodes import demo
from authcodes.demo import CUSTOMERS, PLANS, ROLES, SUPERUSER, Plan
from authcodes.demo_credentials import Credentials
from authcodes.models import BatchRange, Product
from authcodes.views.codes import image_address
from brands.models import Brand, User
from brands.refusals import Refused
from loyalty.accrual import plain

CODES_SHOWN = 40


class Command(BaseCommand):
    help = "Makes two demo brands, or refreshes them, and prints their logins, keys and codes to scan."
    requires_system_checks: list[str] = []  # bin/run has just migrated; this has to be quick

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs, and nothing else")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            credentials, brands = refresh()
        except (Refused, OSError) as error:
            message = f"The demo was left alone: {error}"
            raise CommandError(message) from error
        first, second = (Shown(plan, brand, credentials) for plan, brand in zip(PLANS, brands, strict=True))
        if options["json"]:
            self.stdout.write(json.dumps({**first.for_programs(), "second_brand": second.for_programs()}, indent=2))
        else:
            self.stdout.write("\n".join([*portal(credentials), *first.for_people(), *second.for_people()]))


def refresh() -> tuple[Credentials, list[Brand]]:
    """The demo as it should be, made or mended, and what opens it."""
    now = timezone.now()
    # One transaction, the file written at its end: what the file says was never true of less than all of it.
    with transaction.atomic():
        brands = demo.ensure(at=now)
        credentials = Credentials.load()
        before = repr(credentials)
        credentials.renew(brands=brands, at=now)
        credentials.base_url = base_url(credentials)
        for plan, brand in zip(PLANS, brands, strict=True):
            demo.top_up(plan=plan, brand=brand, at=now)
        if repr(credentials) != before:
            credentials.save()
    return credentials, brands


def base_url(credentials: Credentials) -> str:
    """Where bin/run listens: PORT as it told us, so that a later call without PORT still knows."""
    port = os.environ.get("PORT")
    return f"http://localhost:{port}" if port else credentials.base_url or "http://localhost:8000"


class Shown:
    """A brand of the demo, for whoever asks."""

    def __init__(self, plan: Plan, brand: Brand, credentials: Credentials) -> None:
        self.plan, self.brand, self.credentials = plan, brand, credentials
        self.customers = [self.person(name) for name in CUSTOMERS]
        self.staff = [(role, self.person(name)) for name, role in ROLES.items()]
        # In any order, so that two who ask at the same time scarcely get the same ones.
        self.codes = list(demo.fresh_codes(brand).order_by("?").select_related("batch")[:CODES_SHOWN])

    def person(self, name: str) -> dict[str, str]:
        email = f"{name}@{self.plan.domain}"
        return {"email": email, "password": self.credentials.passwords[email]}

    def for_programs(self) -> dict[str, Any]:
        keys = self.credentials.keys[self.brand.slug]
        ids = dict(User.objects.filter(registered_brand=self.brand).values_list("email", "pk"))
        return {
            "base_url": self.credentials.base_url,
            "brand_id": self.brand.pk,
            "origin": f"http://{self.plan.hostnames[0]}",
            "hub_key": keys["hub"],
            "app_key": keys["app"],
            "customers": [{"user_id": ids[customer["email"]], **customer} for customer in self.customers],
            "staff": [
                {
                    "username": person["email"],
                    "password": person["password"],
                    "role": role.value,
                    "brand_id": self.brand.pk,
                }
                for role, person in self.staff
            ],
            "codes": [code.code for code in self.codes],
            "batches": list(BatchRange.objects.filter(brand=self.brand).order_by("pk").values_list("pk", flat=True)),
            "products": [
                {
                    "id": product.pk,
                    "sku": product.sku,
                    "title": product.title,
                    "retail_price": plain(product.retail_price),
                }
                for product in Product.objects.filter(brand=self.brand).order_by("pk")
            ],
        }

    def for_people(self) -> list[str]:
        code = self.codes[0]
        logins = [(role.value, person) for role, person in self.staff]
        logins += [("customer", customer) for customer in self.customers]
        return [
            "",
            f"{self.brand.name}  (brand {self.brand.pk}, origin http://{self.plan.hostnames[0]})",
            f"  {'scan':9} {code.code}  {self.credentials.base_url}{image_address(code)}",
            *(f"  {who:9} {person['email']:29} {person['password']}" for who, person in logins),
        ]


def portal(credentials: Credentials) -> list[str]:
    """Where things are, and who sees all of it."""
    return [
        f"{'Portal':11} {credentials.base_url}/admin/",
        f"{'API docs':11} {credentials.base_url}/api/docs",
        f"{'Programs':11} manage.py demo --json prints keys and more codes",
        f"{'superuser':11} {SUPERUSER:29} {credentials.passwords[SUPERUSER]}",
    ]
