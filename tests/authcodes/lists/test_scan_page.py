"""A scan's page: its customer, the first scan of its code, the explanation of its result, and recalls."""

from datetime import timedelta

import pytest
from django.contrib.admin import site
from django.utils import timezone
from django.utils.translation import override, trans_real

from authcodes.admin.scan_meaning import MEANINGS, WARNINGS, answer_of_page
from authcodes.models.batches import BatchRange
from authcodes.models.scans import Scan
from authcodes.recalls import recalls, scopes
from authcodes.scanning.evaluate import OUTCOMES
from tests.support import factories
from tests.support.portal import address, browser, links, scan, staff, text

pytestmark = pytest.mark.django_db


def page_of(brand, row, role="owner"):
    return text(browser(staff(brand, role=role)).get(address("authcodes.scan", "change", row.pk)))


def account_with_email(brand, email):
    customer = factories.customer(brand)
    customer.email = email
    customer.save()
    return factories.account(customer, brand)


def test_scan_links_to_its_customer_and_to_the_first_scan(brand):
    first, second = account_with_email(brand, "first@example.com"), account_with_email(brand, "second@example.com")
    code, now = factories.code(brand), timezone.now()
    first_scan = scan(code, user=first.user, scanned_at=now - timedelta(days=1))
    second_scan = scan(code, user=second.user, outcome="warning", reason="limit_reached", scanned_at=now)

    html = page_of(brand, second_scan, role="support")

    assert {
        address("loyalty.userpoints", "change", first.pk),
        address("loyalty.userpoints", "change", second.pk),
        address("authcodes.scan", "change", first_scan.pk),
    } <= links(html)
    assert "this scan" in page_of(brand, first_scan)


def test_first_customer_of_another_brand_is_not_named(brand):
    other_account = account_with_email(factories.brand(), "stranger@example.com")
    code, now = factories.code(brand), timezone.now()
    scan(code, user=other_account.user, scanned_at=now - timedelta(days=1))

    html = page_of(brand, scan(code, outcome="warning", reason="limit_reached", scanned_at=now))

    assert "stranger@example.com" not in html
    assert address("loyalty.userpoints", "change", other_account.pk) not in links(html)
    assert "another brand" in html


def test_customers_of_other_brands_are_described_in_the_readers_language(brand, monkeypatch):
    german = trans_real.translation("de")
    monkeypatch.setattr(german, "gettext", lambda text: f"{text} (de)")
    scan(factories.code(brand), user=factories.customer(factories.brand()))

    with override("de"):
        [listed] = site.get_model_admin(Scan).with_related(Scan.objects.all())

    assert listed.customer_email == "another brand's customer (de)"


def test_first_scan_may_be_by_a_guest(brand):
    code, now = factories.code(brand), timezone.now()
    scan(code, scanned_at=now - timedelta(days=1))

    assert "a guest," in page_of(brand, scan(code, outcome="warning", reason="limit_reached", scanned_at=now))


def test_scan_of_an_unknown_code_has_its_own_badge(brand):
    row = scan(factories.code(brand), auth_code=None, batch=None, outcome="error", reason="unknown")

    html = "".join(page_of(brand, row).split())

    assert ">Error<" not in html
    assert ">Unknowncode<" in html


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
def test_page_explains_the_result_and_the_answer_of_the_scan_page(brand, fields, answer):
    row = scan(factories.code(brand), **fields)

    html = text(browser(staff(brand)).get(address("authcodes.scan", "change", row.pk)))

    assert str(MEANINGS[row.reason]) in html
    assert answer in html
    assert (address("authcodes.authcode", "change", row.auth_code_id) in links(html)) is bool(row.auth_code_id)


def test_repeated_scan_for_limited_points_is_not_explained_as_a_warning(brand):
    row = scan(factories.code(brand), outcome="warning", reason="limit_reached", points_status="limited", scan_count=2)

    html = text(browser(staff(brand)).get(address("authcodes.scan", "change", row.pk)))

    assert "a limit had held back its points" in html
    assert "had been checked before" in html
    assert "may be a copy" not in html


@pytest.mark.parametrize(("outcome", "reason"), [("success", "accepted"), ("warning", "recalled")])
def test_scan_of_a_sandbox_brand_is_explained_as_a_test_code(brand, outcome, reason):
    brand.is_sandbox = True

    assert "test code" in str(answer_of_page(Scan(brand=brand, outcome=outcome, reason=reason)))


# --- Recalls ---------------------------------------------------------------------------------------------------------


def recall(batch, **age):
    fields = {"recall_id": "R-1", "contact": "x", "message": "x", "reason": "x"}
    return recalls.recall_batch(batch=batch, at=timezone.now() - timedelta(**age), **fields)


def recalled_scan(code, **fields):
    return scan(code, outcome="warning", reason="recalled", **fields)


def recall_links(html):
    return {link for link in links(html) if "recall/" in link and link.endswith("/change/")}


def test_scan_of_a_recalled_code_links_to_the_recall(brand):
    code = factories.code(brand)
    recall_ = recall(code.batch, days=1)

    html = page_of(brand, recalled_scan(code), role="support")

    assert recall_links(html) == {address("authcodes.recall", "change", recall_.pk)}
    assert "Recall: <a" in html


def test_earlier_scan_links_to_a_recall_that_began_since(brand):
    code = factories.code(brand)
    row = scan(code, scanned_at=timezone.now() - timedelta(days=2))
    recall_ = recall(code.batch, days=1)

    html = page_of(brand, row)

    assert "Recalled since this scan: <a" in html
    assert recall_links(html) == {address("authcodes.recall", "change", recall_.pk)}


def test_scan_links_to_its_withdrawn_recall_and_to_the_next_one(brand):
    code, owner = factories.code(brand), staff(brand)
    row = recalled_scan(code, scanned_at=timezone.now() - timedelta(days=2))
    first_recall = recall(code.batch, days=3)
    withdrawn = recalls.withdraw_recall(
        recall=first_recall, reason="x", at=timezone.now() - timedelta(days=1), by=owner
    )
    address_of_first = address("authcodes.withdrawnrecall", "change", withdrawn.pk)

    html = page_of(brand, row)
    assert "Recall (now withdrawn): <a" in html
    assert recall_links(html) == {address_of_first}

    code.batch.refresh_from_db()
    second_recall = recall(code.batch)
    html = page_of(brand, row)
    assert recall_links(html) == {address_of_first, address("authcodes.recall", "change", second_recall.pk)}


def test_scan_links_to_its_own_recall_if_the_batch_joined_an_older_one_since(brand):
    owner, product, now = staff(brand), factories.product(brand), timezone.now()
    code, other = factories.code(brand, product=product), factories.code(brand, product=product)
    row = recalled_scan(code, scanned_at=now - timedelta(days=2))
    own_recall, older_recall = recall(code.batch, days=3), recall(other.batch, days=3)
    withdrawn = recalls.withdraw_recall(recall=own_recall, reason="x", at=now - timedelta(days=1), by=owner)
    added = scopes.of_batches(BatchRange.objects.filter(pk=code.batch_id))
    recalls.add_codes(recall=older_recall, added=added, reason="x", at=now, by=owner)

    html = page_of(brand, row)

    link = '%s: <a class="page-link" href="%s"'
    assert link % ("Recall (now withdrawn)", address("authcodes.withdrawnrecall", "change", withdrawn.pk)) in html
    assert link % ("Recalled since this scan", address("authcodes.recall", "change", older_recall.pk)) in html

    recalls.withdraw_recall(recall=older_recall, reason="x", at=now, by=owner)
    assert recall_links(page_of(brand, row)) == {address("authcodes.withdrawnrecall", "change", withdrawn.pk)}


def test_scan_with_an_invalid_tag_links_to_no_recall(brand):
    code = factories.code(brand)
    recall(code.batch, days=1)

    assert not recall_links(page_of(brand, scan(code, outcome="error", reason="bad_tag")))
