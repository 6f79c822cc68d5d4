"""`manage.py demo`: creates or finds the demo, and prints how to log in, for people or as JSON for programs."""

import json
import os
from argparse import ArgumentParser
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.models.scans import Scan
from brands.models.people import User
from brands.models.tenants import Brand
from brands.tenants.hostnames import hostname_of, site_at
from config.demo import data, hostnames
from config.demo.credentials import Credentials
from config.demo.data import CUSTOMERS, PLANS, ROLES, SUPERUSER, DemoConflictError, Plan
from core.errors import DomainError
from core.json_values import json_number

MAX_CODES_LISTED = 40
# Imported by name: it loads most of the platform, which later starts do not need.
THREE_MONTHS = "config.demo.three_months"
NOT_FOR_PHONES = "opens after a start without --phone"


class Command(BaseCommand):
    help = "Makes two demo brands, or refreshes them, and prints their logins, keys and codes to scan."
    requires_system_checks: list[str] = []  # bin/run has just migrated; this command has to be fast

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object for programs, and nothing else")
        parser.add_argument(
            "--three-months",
            action="store_true",
            help="three months of history, where all brands are the demo's",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            credentials, brands, lived = refresh(three_months=options["three_months"])
            if lived:
                import_string(f"{THREE_MONTHS}.catch_up")(lived, at=timezone.now())
        except (DemoConflictError, DomainError, OSError) as error:
            raise CommandError(f"The demo was not changed: {error}") from error
        first, second = (BrandSummary(plan, brand, credentials) for plan, brand in zip(PLANS, brands, strict=True))
        if options["json"]:
            self.stdout.write(json.dumps({**first.for_programs(), "second_brand": second.for_programs()}, indent=2))
        else:
            self.stdout.write("\n".join([*portal(credentials), *first.text_lines(), *second.text_lines()]))


def refresh(*, three_months: bool = False) -> tuple[Credentials, list[Brand], list[Brand]]:
    """Create or repair the demo. Returns its credentials, its brands, and those that got a history now."""
    now, lived = timezone.now(), []
    three_months = three_months and import_string(f"{THREE_MONTHS}.has_only_demo_brands")()
    # One transaction, with the file written at its end, so that the file never describes an incomplete demo.
    with transaction.atomic():
        brands = data.ensure(at=now)
        credentials = Credentials.load()
        before = repr(credentials)
        credentials.renew(brands=brands, at=now)
        credentials.base_url = base_url(credentials)
        for plan, brand in zip(PLANS, brands, strict=True):
            hostnames.set_primary_hostname(hostnames.hostname_at(plan, credentials.base_url), plan=plan, brand=brand)
            data.top_up(plan=plan, brand=brand, at=now)
            if three_months and not Scan.objects.filter(brand=brand).exists():
                import_string(f"{THREE_MONTHS}.create_history")(brand, domain=plan.domain, until=now)
                lived.append(brand)
        if repr(credentials) != before:
            credentials.save()
    return credentials, brands, lived


def base_url(credentials: Credentials) -> str:
    """The address of bin/run, from its PORT and HOST; later calls without these use the saved one."""
    port = os.environ.get("PORT")
    if not port:
        return credentials.base_url or "http://localhost:8000"
    return f"http://{hostnames.address_in_network(os.environ.get('HOST', '')) or 'localhost'}:{port}"


class BrandSummary:
    """A brand of the demo, for output. People who were removed or renamed in the meantime are left out."""

    def __init__(self, plan: Plan, brand: Brand, credentials: Credentials) -> None:
        self.plan, self.brand, self.credentials = plan, brand, credentials
        ids = dict(User.objects.filter(email__in=plan.addresses).values_list("email", "pk"))
        self.customers = {
            plan.address(name): ids[plan.address(name)] for name in CUSTOMERS if plan.address(name) in ids
        }
        self.staff = {plan.address(name): role for name, role in ROLES.items() if plan.address(name) in ids}
        # In random order, so that two callers at the same time rarely get the same codes.
        self.codes = list(data.fresh_codes(brand).order_by("?")[:MAX_CODES_LISTED])

    @property
    def origin(self) -> str:
        return site_at(hostname_of(self.brand.pk))

    @property
    def page(self) -> str:
        """The address of an unscanned code's page. Browsers resolve all names under .localhost to this machine."""
        return f"{self.origin}/s/{self.codes[0].code}"

    @property
    def is_reached(self) -> bool:
        """Whether the brand's hostname leads to bin/run; with an address in the network, only the first's does."""
        host = urlsplit(self.credentials.base_url).hostname or ""
        return not hostnames.address_in_network(host) or urlsplit(self.origin).hostname == host

    def for_programs(self) -> dict[str, Any]:
        passwords, keys = self.credentials.passwords, self.credentials.keys[self.brand.slug]
        batches = BatchRange.objects.filter(brand=self.brand).order_by("pk")
        products = Product.objects.filter(brand=self.brand).order_by("pk")
        return {
            "base_url": self.credentials.base_url,
            "brand_id": self.brand.pk,
            "origin": self.origin,
            "hub_key": keys["hub"],
            "app_key": keys["app"],
            "customers": [
                {"user_id": user_id, "email": email, "password": passwords[email]}
                for email, user_id in self.customers.items()
            ],
            "staff": [
                {"username": email, "password": passwords[email], "role": role.value, "brand_id": self.brand.pk}
                for email, role in self.staff.items()
            ],
            "codes": [code.code for code in self.codes],
            "batches": list(batches.values_list("pk", flat=True)),
            "products": [
                {"id": it.pk, "sku": it.sku, "title": it.title, "retail_price": json_number(it.retail_price)}
                for it in products
            ],
        }

    def text_lines(self) -> list[str]:
        roles_by_email = {
            **{email: role.value for email, role in self.staff.items()},
            **dict.fromkeys(self.customers, "customer"),
        }
        return [
            "",
            f"{self.brand.name}  (brand {self.brand.pk}, origin {self.origin})",
            *(line(role, email, self.credentials.passwords[email]) for email, role in roles_by_email.items()),
            line("scan page", self.page, "what a phone opens for this code" if self.is_reached else NOT_FOR_PHONES),
            line("scan", self.codes[0].code, f"its QR image: {image_url(self.codes[0], self.credentials)}"),
        ]


def portal(credentials: Credentials) -> list[str]:
    """Lines with the portal's addresses and the superuser's login."""
    return [
        "",
        line("Portal", f"{credentials.base_url}/admin/"),
        line("API docs", f"{credentials.base_url}/api/docs"),
        line("Programs", "manage.py demo --json", "prints keys and more codes"),
        line("superuser", SUPERUSER, credentials.passwords.get(SUPERUSER, "")),
    ]


def line(what: str, which: str, more: str = "") -> str:
    return f"  {what:9}  {which:28}  {more}".rstrip()


def image_url(code: AuthCode, credentials: Credentials) -> str:
    # Imported by name, and only for people: the module loads all views, a third of this command's time.
    address_of = import_string("authcodes.api.qr_images.image_address")
    return f"{credentials.base_url}{address_of(code)}"
