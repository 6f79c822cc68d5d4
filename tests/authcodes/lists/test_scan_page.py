"""A scan's page: who scanned, who scanned first, and what the outcome is called."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.support import factories
from tests.support.portal import address, browser, links, scan, staff, text

pytestmark = pytest.mark.django_db


def page_of(brand, row, role="owner"):
    return text(browser(staff(brand, role=role)).get(address("authcodes.scan", "change", row.pk)))


def account(brand, email):
    customer = factories.customer(brand)
    customer.email = email
    customer.save()
    return factories.account(customer, brand)


def test_scan_leads_to_its_customer_and_to_whoever_scanned_first(brand):
    first, second = account(brand, "first@example.com"), account(brand, "second@example.com")
    code, now = factories.code(brand), timezone.now()
    earlier = scan(code, user=first.user, scanned_at=now - timedelta(days=1))
    later = scan(code, user=second.user, outcome="warning", reason="limit_reached", scanned_at=now)

    shown = page_of(brand, later, role="support")

    assert {
        address("loyalty.userpoints", "change", first.pk),
        address("loyalty.userpoints", "change", second.pk),
        address("authcodes.scan", "change", earlier.pk),
    } <= links(shown)
    assert "this scan" in page_of(brand, earlier)


def test_first_scanner_of_another_brand_stays_unnamed(brand):
    stranger = account(factories.brand(), "stranger@example.com")
    code, now = factories.code(brand), timezone.now()
    scan(code, user=stranger.user, scanned_at=now - timedelta(days=1))

    shown = page_of(brand, scan(code, outcome="warning", reason="limit_reached", scanned_at=now))

    assert "stranger@example.com" not in shown
    assert address("loyalty.userpoints", "change", stranger.pk) not in links(shown)
    assert "another brand" in shown


def test_first_scanner_may_be_a_guest(brand):
    code, now = factories.code(brand), timezone.now()
    scan(code, scanned_at=now - timedelta(days=1))

    assert "a guest," in page_of(brand, scan(code, outcome="warning", reason="limit_reached", scanned_at=now))


def test_unknown_code_is_called_so(brand):
    row = scan(factories.code(brand), auth_code=None, batch=None, outcome="error", reason="unknown")

    shown = "".join(page_of(brand, row).split())

    assert ">Error<" not in shown
    assert ">Unknowncode<" in shown
