"""Lookups of codes are recorded and rate limited like scans."""

from datetime import timedelta

import pytest
from django.conf import settings as project_settings
from django.utils import timezone

from authcodes.models.lookups import CodeLookup
from authcodes.models.scans import Scan
from authcodes.personal_data import LOOKUPS
from authcodes.scanning import lookups
from tests.support import factories

DEFAULT_LIMITS = dict(project_settings.RATE_LIMITS)  # before a fixture changes them


def validate(caller, code):
    return caller.post("auth-codes/validate", {"code": str(code)})


def test_lookup_is_recorded_and_does_not_change_the_code(api, brand, customer):
    code = factories.code(brand)

    validate(api.as_customer(customer), code)
    validate(api.app(), "NO-SUCH")

    recorded = list(CodeLookup.objects.order_by("pk").values_list("brand", "auth_code", "code", "user", "reason"))
    assert recorded == [
        (brand.pk, code.pk, code.code, customer.pk, "accepted"),
        (brand.pk, None, "NO-SUCH", None, "unknown"),
    ]
    code.refresh_from_db()
    assert code.scan_count == 0
    assert not Scan.objects.exists()


def test_a_lookup_takes_two_statements(api, brand, customer, django_assert_num_queries):
    customer_api, code = api.as_customer(customer), factories.code(brand)

    with django_assert_num_queries(2):
        validate(customer_api, code)


def test_lookups_and_scans_share_a_rate_limit(api, brand, customer, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "plain_codes": "5/hour"}
    codes, customer_api = factories.batch(brand, quantity=8).codes.all(), api.as_customer(customer)

    assert [validate(customer_api, code).status_code for code in codes] == [200] * 5 + [429] * 3
    assert [customer_api.verify(code).status_code for code in codes] == [200] * 5 + [429] * 3  # one limit for both


def test_lookups_by_guests_share_the_rate_limit_of_their_network(api, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "plain_codes_network": "5/day"}
    codes = factories.batch(brand, quantity=8).codes.all()

    assert [validate(api.app(), code).status_code for code in codes] == [200] * 5 + [429] * 3


def test_lookups_by_a_hub_are_not_rate_limited(api, brand, settings):
    settings.RATE_LIMITS = {**DEFAULT_LIMITS, "plain_codes_network": "1/day"}
    hub = api.hub()

    assert {validate(hub, code).status_code for code in factories.batch(brand, quantity=5).codes.all()} == {200}


@pytest.mark.django_db
def test_lookups_are_purged_after_a_month(api, brand):
    validate(api, "OLD")
    CodeLookup.objects.update(looked_up_at=timezone.now() - timedelta(days=31))
    validate(api, "NEW")

    assert lookups.purge_old(at=timezone.now()) == 1
    assert CodeLookup.objects.get().code == "NEW"


def test_lookups_of_a_customer_are_exported_and_erased_per_brand(api, brand, customer):
    pseudonym, other_brand = factories.user(), factories.brand()
    validate(api.as_customer(customer), factories.code(brand))
    CodeLookup.objects.create(brand=other_brand, user=customer, code="X", reason="unknown")

    assert [each["reason"] for each in LOOKUPS.export(customer.pk, brand.pk)] == ["accepted"]
    LOOKUPS.erase(customer.pk, brand.pk, to=pseudonym.pk, at=timezone.now())

    assert [each.brand_id for each in CodeLookup.objects.filter(user=customer)] == [other_brand.pk]
