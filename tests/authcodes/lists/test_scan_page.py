"""A scan's page: who scanned, who scanned first, and what the outcome is called."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.admin.scan_meaning import MEANINGS, WARNINGS, answer_of_page
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning.evaluate import OUTCOMES
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


def test_each_result_is_explained():
    assert set(MEANINGS) == set(Scan.Reason)
    assert set(WARNINGS) == {reason for reason, outcome in OUTCOMES.items() if outcome == Scan.Outcome.WARNING}


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({"scan_count": 1}, "nobody had checked it before"),
        ({"scan_count": 2}, "had been checked before"),
        ({"scan_count": 2, "points_status": "already_claimed"}, "already has its points"),
        ({"outcome": "warning", "reason": "limit_reached"}, "may be a copy"),
        (
            {"outcome": "warning", "reason": "limit_reached", "points_status": "already_claimed"},
            "already has its points",
        ),
        ({"outcome": "warning", "reason": "reserved"}, "a moment ago"),
        ({"outcome": "warning", "reason": "recalled"}, "warned not to use the product"),
        ({"outcome": "error", "reason": "deactivated"}, "was not recognised"),
        ({"outcome": "error", "reason": "unknown", "auth_code": None, "batch": None}, "was not recognised"),
    ],
)
def test_page_says_what_the_result_means_and_what_the_scan_page_said(brand, fields, answer):
    row = scan(factories.code(brand), **fields)

    shown = text(browser(staff(brand)).get(address("authcodes.scan", "change", row.pk)))

    assert str(MEANINGS[row.reason]) in shown
    assert answer in shown
    assert (address("authcodes.authcode", "change", row.auth_code_id) in links(shown)) is bool(row.auth_code_id)


def test_a_customer_who_asks_for_points_that_a_limit_held_back_was_warned_of_nothing(brand):
    row = scan(factories.code(brand), outcome="warning", reason="limit_reached", points_status="limited", scan_count=2)

    shown = text(browser(staff(brand)).get(address("authcodes.scan", "change", row.pk)))

    assert "a limit had held back its points" in shown
    assert "had been checked before" in shown
    assert "may be a copy" not in shown


def test_scan_of_a_test_code_showed_that_it_is_one(brand):
    brand.is_sandbox = True

    assert "test code" in str(answer_of_page(Scan(brand=brand, outcome="success", reason="accepted")))


# --- Recalls ---------------------------------------------------------------------------------------------------------


def recall(batch, **ago):
    fields = {"recall_id": "R-1", "contact": "x", "message": "x", "reason": "x"}
    return recalls.recall_batch(batch=batch, at=timezone.now() - timedelta(**ago), **fields)


def recalled_scan(code, **fields):
    return scan(code, outcome="warning", reason="recalled", **fields)


def recall_links(shown):
    return {link for link in links(shown) if "recall/" in link and link.endswith("/change/")}


def test_scan_of_a_recalled_product_leads_to_the_recall(brand):
    code = factories.code(brand)
    made = recall(code.batch, days=1)

    shown = page_of(brand, recalled_scan(code), role="support")

    assert recall_links(shown) == {address("authcodes.recall", "change", made.pk)}
    assert "Recall: <a" in shown


def test_earlier_scan_says_that_its_code_was_recalled_since(brand):
    code = factories.code(brand)
    row = scan(code, scanned_at=timezone.now() - timedelta(days=2))
    made = recall(code.batch, days=1)

    shown = page_of(brand, row)

    assert "Recalled since this scan: <a" in shown
    assert recall_links(shown) == {address("authcodes.recall", "change", made.pk)}


def test_scan_leads_to_the_recall_that_was_withdrawn_since_and_to_the_next_one(brand):
    code, owner = factories.code(brand), staff(brand)
    row = recalled_scan(code, scanned_at=timezone.now() - timedelta(days=2))
    first = recall(code.batch, days=3)
    withdrawn = recalls.withdraw_recall(recall=first, reason="x", at=timezone.now() - timedelta(days=1), by=owner)
    address_of_first = address("authcodes.withdrawnrecall", "change", withdrawn.pk)

    shown = page_of(brand, row)
    assert "Recall (now withdrawn): <a" in shown
    assert recall_links(shown) == {address_of_first}

    code.batch.refresh_from_db()
    second = recall(code.batch)
    shown = page_of(brand, row)
    assert recall_links(shown) == {address_of_first, address("authcodes.recall", "change", second.pk)}


def test_scan_of_no_genuine_code_leads_to_no_recall(brand):
    code = factories.code(brand)
    recall(code.batch, days=1)

    assert not recall_links(page_of(brand, scan(code, outcome="error", reason="bad_tag")))
