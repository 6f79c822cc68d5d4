"""Colleagues who recall at once, on parallel connections; with a control that shows the race without the lock."""

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
from tests.support.concurrency import at_once, at_once_behind, while_uncommitted
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.django_db(transaction=True)
THE_BATCH = "SELECT 1 FROM authcodes_batchrange WHERE id = %s FOR UPDATE"
TEXTS = {"contact": "call us", "message": "Stop.", "reason": "Glass"}


@pytest.fixture
def batches(brand):
    product = factories.product(brand)
    return [factories.batch(brand, quantity=1, product=product) for _ in range(3)]


def recall_all(batches):
    """What colleagues do whose recalls all have the second batch."""

    def work(number):
        parts = tuple(Part(BatchRange.objects.get(pk=batch.pk)) for batch in (batches[number % 2 * 2], batches[1]))
        return recalls.recall(scope=Scope(parts), recall_id=f"R-{number}", at=timezone.now(), **TEXTS)

    return work


def test_of_recalls_that_share_a_batch_one_is_made_whole(brand, batches):
    results = at_once_behind(THE_BATCH, [batches[1].pk], recall_all(batches), range(4))

    [made] = [each for each in results if isinstance(each, Recall)]
    assert all(isinstance(each, BatchRejected) for each in results if each is not made)
    assert Recall.objects.get() == made
    assert sorted(BatchRange.objects.filter(recall=made).values_list("pk", flat=True)) in (
        sorted([batches[0].pk, batches[1].pk]),
        sorted([batches[2].pk, batches[1].pk]),
    )
    assert BatchRange.objects.filter(recall=None).count() == 1


def test_control_without_the_lock_several_are_made(brand, batches, monkeypatch):
    def unlocked(ids):
        return list(BatchRange.objects.select_related("recall").filter(pk__in=ids).order_by("pk"))

    monkeypatch.setattr(recalls, "lock", unlocked)

    at_once_behind(THE_BATCH, [batches[1].pk], recall_all(batches), range(4))

    assert Recall.objects.count() > 1


def test_a_button_that_is_pressed_twice_recalls_once(brand, batches):
    owner = staff(brand)
    where = address("authcodes.recall", "add") + "?" + "&".join(f"batches={batch.pk}" for batch in batches)

    answers = at_once(lambda _n: browser(owner).post(where, {**TEXTS, "recall_id": "R-1"}), range(3))

    recall = Recall.objects.get()
    assert {answer["Location"] for answer in answers} == {address("authcodes.recall", "change", recall.pk)}
    assert recall.batches.count() == 3


def test_a_return_that_is_sent_many_times_at_once_is_one_line(brand, batches):
    made = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS)
    day, form_id, owner = timezone.now().astimezone(brand.zone).date(), uuid.uuid4(), staff(brand)

    def enter(_number):
        details = {"recall": made, "pieces": 3, "returned_on": day, "note": "", "form_id": form_id}
        return returns.enter(by=owner, at=timezone.now(), **details)

    results = at_once(enter, range(6))

    assert {each.pk for each in results} == {RecallReturn.objects.get().pk}


def test_corrections_at_once_take_off_no_more_than_there_is(brand, batches):
    made = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS)
    day, owner = timezone.now().astimezone(brand.zone).date(), staff(brand)

    def enter(pieces):
        details = {"recall": made, "pieces": pieces, "returned_on": day, "note": "", "form_id": uuid.uuid4()}
        return returns.enter(by=owner, at=timezone.now(), **details)

    enter(3)
    results = at_once(enter, [-2] * 4)

    assert [isinstance(each, RecallReturn) for each in results].count(True) == 1
    assert returns.pieces_of(made) == 1


THE_RECALL = "SELECT 1 FROM authcodes_recall WHERE id = %s FOR UPDATE"


def test_of_a_withdrawal_and_an_addition_at_once_nothing_stays_half_recalled(brand, batches):
    made, owner = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS), staff(brand)

    def work(number):
        if number % 2:
            return recalls.withdraw_recall(recall=made, reason="Safe", at=timezone.now(), by=owner)
        added = Scope((Part(BatchRange.objects.get(pk=batches[1].pk)),))
        return recalls.add_codes(recall=made, added=added, reason="More", at=timezone.now(), by=owner)

    results = at_once_behind(THE_RECALL, [made.pk], work, range(4))

    was_added = any(isinstance(each, Scope) for each in results)
    assert {type(each) for each in results} <= {Scope, WithdrawnRecall, BatchRejected}
    assert not BatchRange.objects.exclude(recall=None).exists()
    assert WithdrawnRecall.objects.get().batches.count() == (2 if was_added else 1)


def test_codes_that_are_added_many_times_at_once_are_added_once(brand, batches):
    made, owner = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS), staff(brand)

    def work(_number):
        added = Scope((Part(BatchRange.objects.get(pk=batches[1].pk)),))
        return recalls.add_codes(recall=made, added=added, reason="More", at=timezone.now(), by=owner)

    results = at_once_behind(THE_RECALL, [made.pk], work, range(4))

    assert [isinstance(each, Scope) for each in results].count(True) == 1
    assert batches[1].changes.filter(kind="recalled").count() == 1


def erase(person, brand):
    return erasure.erase(user_id=person.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))


def named(brand, batches):
    """Two customers, and a recall whose reason names both."""
    people = [factories.customer(brand, email=f"{name}@example.com") for name in ("wilma", "fred")]
    made = recalls.recall_batch(batch=batches[0], recall_id="R-1", at=timezone.now(), **TEXTS)
    made.reason = "Say wilma@example.com and fred@example.com"  # in no code's history, where erasures would meet first
    made.save()
    return people, made


def test_a_recall_that_is_withdrawn_during_an_erasure_keeps_no_name(brand, batches):
    (wilma, _fred), made = named(brand, batches)
    owner = staff(brand)

    def withdraw():
        recalls.withdraw_recall(recall=made, reason="wilma@example.com was wrong", at=timezone.now(), by=owner)

    outcome = while_uncommitted(withdraw, lambda: erase(wilma, brand))

    kept = WithdrawnRecall.objects.get()
    assert isinstance(outcome, erasure.Erased)
    assert "wilma" not in kept.reason + kept.withdrawal_reason


def test_two_erasures_at_once_lose_nothing_of_each_other(brand, batches):
    (wilma, fred), made = named(brand, batches)

    while_uncommitted(lambda: erase(wilma, brand), lambda: erase(fred, brand))

    made.refresh_from_db()
    assert "wilma" not in made.reason
    assert "fred" not in made.reason
    assert made.reason.startswith("Say ")
