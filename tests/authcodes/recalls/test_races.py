"""Concurrent recalls on parallel connections, with a control that shows the race without the lock."""

import uuid

import pytest
from django.utils import timezone

from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.recalls import RecallReturn, WithdrawnRecall
from authcodes.recalls import recalls, returns
from authcodes.recalls.scopes import Part, Scope
from brands.audit_log import AuditContext
from loyalty.members import erasure
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_concurrently_behind_lock, run_during_transaction
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.django_db(transaction=True)
LOCK_BATCH = "SELECT 1 FROM authcodes_batchrange WHERE id = %s FOR UPDATE"
TEXTS = {"contact": "call us", "message": "Stop.", "reason": "Glass"}


@pytest.fixture
def batches(brand):
    product = factories.product(brand)
    return [factories.batch(brand, quantity=1, product=product) for _ in range(3)]


def recall_overlapping(batches):
    """Makes a recall of two batches, one of which is always the second."""

    def recall_number(number):
        parts = tuple(Part(BatchRange.objects.get(pk=batch.pk)) for batch in (batches[number % 2 * 2], batches[1]))
        return recalls.recall(scope=Scope(parts), recall_id=f"R-{number}", at=timezone.now(), **TEXTS)

    return recall_number


def test_concurrent_recalls_that_share_a_batch_make_one_complete_recall(brand, batches):
    results = run_concurrently_behind_lock(LOCK_BATCH, [batches[1].pk], recall_overlapping(batches), range(4))

    [only_recall] = [each for each in results if isinstance(each, Recall)]
    assert all(isinstance(each, BatchRejected) for each in results if each is not only_recall)
    assert Recall.objects.get() == only_recall
    assert sorted(BatchRange.objects.filter(recall=only_recall).values_list("pk", flat=True)) in (
        sorted([batches[0].pk, batches[1].pk]),
        sorted([batches[2].pk, batches[1].pk]),
    )
    assert BatchRange.objects.filter(recall=None).count() == 1


def test_control_without_the_lock_several_recalls_are_made(brand, batches, monkeypatch):
    def read_without_lock(ids):
        return list(BatchRange.objects.select_related("recall").filter(pk__in=ids).order_by("pk"))

    monkeypatch.setattr(recalls, "lock", read_without_lock)

    run_concurrently_behind_lock(LOCK_BATCH, [batches[1].pk], recall_overlapping(batches), range(4))

    assert Recall.objects.count() > 1


def test_concurrent_posts_of_one_form_recall_once(brand, batches):
    owner = staff(brand)
    url = address("authcodes.recall", "add") + "?" + "&".join(f"batches={batch.pk}" for batch in batches)

    answers = run_concurrently(lambda _n: browser(owner).post(url, {**TEXTS, "recall_id": "R-1"}), range(3))

    recall = Recall.objects.get()
    assert {answer["Location"] for answer in answers} == {address("authcodes.recall", "change", recall.pk)}
    assert recall.batches.count() == 3


def test_concurrent_posts_of_one_return_enter_it_once(brand, batches):
    recall = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS)
    day, form_id, owner = timezone.now().astimezone(brand.zone).date(), uuid.uuid4(), staff(brand)

    def enter(_number):
        details = {"recall": recall, "pieces": 3, "returned_on": day, "note": "", "form_id": form_id}
        return returns.enter(by=owner, at=timezone.now(), **details)

    results = run_concurrently(enter, range(6))

    assert {each.pk for each in results} == {RecallReturn.objects.get().pk}


def test_concurrent_corrections_do_not_make_the_returned_pieces_negative(brand, batches):
    recall = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS)
    day, owner = timezone.now().astimezone(brand.zone).date(), staff(brand)

    def enter(pieces):
        details = {"recall": recall, "pieces": pieces, "returned_on": day, "note": "", "form_id": uuid.uuid4()}
        return returns.enter(by=owner, at=timezone.now(), **details)

    enter(3)
    results = run_concurrently(enter, [-2] * 4)

    assert [isinstance(each, RecallReturn) for each in results].count(True) == 1
    assert returns.pieces_of(recall) == 1


LOCK_RECALL = "SELECT 1 FROM authcodes_recall WHERE id = %s FOR UPDATE"


def test_concurrent_withdrawals_and_additions_leave_no_batch_recalled(brand, batches):
    recall, owner = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS), staff(brand)

    def withdraw_or_add(number):
        if number % 2:
            return recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=owner)
        added = Scope((Part(BatchRange.objects.get(pk=batches[1].pk)),))
        return recalls.add_codes(recall=recall, added=added, reason="More", at=timezone.now(), by=owner)

    results = run_concurrently_behind_lock(LOCK_RECALL, [recall.pk], withdraw_or_add, range(4))

    was_added = any(isinstance(each, Scope) for each in results)
    assert {type(each) for each in results} <= {Scope, WithdrawnRecall, BatchRejected}
    assert not BatchRange.objects.exclude(recall=None).exists()
    assert WithdrawnRecall.objects.get().batches.count() == (2 if was_added else 1)


def test_concurrent_additions_of_the_same_codes_add_them_once(brand, batches):
    recall, owner = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS), staff(brand)

    def add_batch(_number):
        added = Scope((Part(BatchRange.objects.get(pk=batches[1].pk)),))
        return recalls.add_codes(recall=recall, added=added, reason="More", at=timezone.now(), by=owner)

    results = run_concurrently_behind_lock(LOCK_RECALL, [recall.pk], add_batch, range(4))

    assert [isinstance(each, Scope) for each in results].count(True) == 1
    assert batches[1].changes.filter(kind="recalled").count() == 1


def erase(user, brand):
    return erasure.erase(user_id=user.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))


def recall_naming_customers(brand, batches):
    """Two customers and a recall whose reason names both."""
    customers = [factories.customer(brand, email=f"{name}@example.com") for name in ("wilma", "fred")]
    recall = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS)
    # Not in the history of codes, whose rows both erasures would lock first.
    recall.reason = "Say wilma@example.com and fred@example.com"
    recall.save()
    return customers, recall


def test_recall_withdrawn_during_an_erasure_does_not_retain_personal_data(brand, batches):
    (wilma, _fred), recall = recall_naming_customers(brand, batches)
    owner = staff(brand)

    def withdraw():
        recalls.withdraw_recall(recall=recall, reason="wilma@example.com was wrong", at=timezone.now(), by=owner)

    outcome = run_during_transaction(withdraw, lambda: erase(wilma, brand))

    withdrawn = WithdrawnRecall.objects.get()
    assert isinstance(outcome, erasure.Erased)
    assert "wilma" not in withdrawn.reason + withdrawn.withdrawal_reason


def test_concurrent_erasures_do_not_undo_each_other(brand, batches):
    (wilma, fred), recall = recall_naming_customers(brand, batches)

    run_during_transaction(lambda: erase(wilma, brand), lambda: erase(fred, brand))

    recall.refresh_from_db()
    assert "wilma" not in recall.reason
    assert "fred" not in recall.reason
    assert recall.reason.startswith("Say ")
