"""Races: a segment is deleted while a rule begins to use it, with a control, and concurrent evaluations."""

import pytest
from django.db import transaction
from django.utils import timezone

from campaigns.earning import checks, segment_references
from campaigns.models.earning_rules import EarningRule
from campaigns.segments import evaluate, uses
from core.db.advisory_locks import LOCK_PAIR, LockOfRow
from core.errors import Invalid
from loyalty.models.programme.segments import Segment, SegmentMember
from tests.campaigns.earning.earning_rules import row
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_concurrently_behind_lock

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    return factories.brand()


def delete_and_use_concurrently(brand):
    """One creates a rule that uses the segment, the other deletes it; neither has written when both have checked."""
    segment = factories.segment(brand)
    unsaved_rule = EarningRule(
        brand=brand,
        kind="scan-auth",
        reward_value=5,
        without_end=True,
        conditions={"all": [row("segment", "in", [segment.pk])]},
    )

    def work(step):
        with transaction.atomic():
            if step == "delete":
                uses.delete(segment)
            elif problems := checks.problems_of(unsaved_rule):
                raise Invalid(str(problems))
            else:
                unsaved_rule.save()

    results = run_concurrently_behind_lock(
        LOCK_PAIR, [LockOfRow.SEGMENT_REFERENCES.value, brand.pk], work, ["delete", "save"]
    )
    return results, Segment.objects.filter(pk=segment.pk).exists(), EarningRule.objects.exists()


def test_segment_is_either_deleted_or_used_by_a_rule(brand):
    results, segment_exists, is_used = delete_and_use_concurrently(brand)

    assert segment_exists == is_used
    assert sum(isinstance(result, Invalid) for result in results) == 1


def test_concurrent_workers_evaluate_a_segment_once(brand):
    customers = [factories.customer(brand) for _ in range(5)]
    segment = factories.segment(brand)

    results = run_concurrently(lambda _: evaluate.evaluate(segment.pk, at=timezone.now()), range(4), threads=4)

    assert not [result for result in results if isinstance(result, Exception)]
    assert SegmentMember.objects.filter(segment=segment).count() == len(customers)
    assert Segment.objects.get().member_count == len(customers)


@pytest.fixture
def unguarded(monkeypatch):
    """Changes of segment references are not serialised."""
    monkeypatch.setattr(segment_references, "lock_references", lambda _brand_id: None)


@pytest.mark.usefixtures("unguarded")
def test_control_rule_uses_a_deleted_segment_without_the_lock(brand, monkeypatch):
    """The segment is deleted after the rule was checked and before it is saved."""
    unknown = segment_references.unknown
    segment = factories.segment(brand)
    unsaved_rule = EarningRule(
        brand=brand,
        kind="scan-auth",
        reward_value=5,
        without_end=True,
        conditions={"all": [row("segment", "in", [segment.pk])]},
    )

    def check_then_delete(brand_id, segment_ids):
        missing = unknown(brand_id, segment_ids)
        run_concurrently(lambda _: uses.delete(segment), [None], threads=1)
        return missing

    monkeypatch.setattr(segment_references, "unknown", check_then_delete)
    with transaction.atomic():
        assert checks.problems_of(unsaved_rule) == {}
        unsaved_rule.save()

    assert EarningRule.objects.exists()
    assert not Segment.objects.exists()
