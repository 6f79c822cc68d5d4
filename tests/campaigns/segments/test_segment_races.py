"""A segment is deleted while a rule begins to ask for it, with a control; and evaluated by several at once."""

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
from tests.support.concurrency import at_once, at_once_behind

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand(transactional_db):
    return factories.brand()


def both(brand):
    """One makes a rule that asks for the segment, the other deletes it; neither has written when both have checked."""
    segment = factories.segment(brand)
    waiting = EarningRule(
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
            elif problems := checks.problems_of(waiting):
                raise Invalid(str(problems))
            else:
                waiting.save()

    results = at_once_behind(LOCK_PAIR, [LockOfRow.SEGMENT_REFERENCES.value, brand.pk], work, ["delete", "save"])
    return results, Segment.objects.filter(pk=segment.pk).exists(), EarningRule.objects.exists()


def test_a_segment_is_deleted_or_asked_for_never_both(brand):
    results, is_there, is_used = both(brand)

    assert is_there == is_used
    assert sum(isinstance(result, Invalid) for result in results) == 1


def test_two_workers_evaluate_a_segment_once(brand):
    people = [factories.customer(brand) for _ in range(5)]
    segment = factories.segment(brand)

    results = at_once(lambda _: evaluate.evaluate(segment.pk, at=timezone.now()), range(4), threads=4)

    assert not [result for result in results if isinstance(result, Exception)]
    assert SegmentMember.objects.filter(segment=segment).count() == len(people)
    assert Segment.objects.get().member_count == len(people)


@pytest.fixture
def unguarded(monkeypatch):
    """Nobody takes turns."""
    monkeypatch.setattr(segment_references, "take_turn", lambda _brand_id: None)


@pytest.mark.usefixtures("unguarded")
def test_control_without_turns_a_rule_asks_for_a_segment_that_is_gone(brand, monkeypatch):
    """Each checks before either writes."""
    unknown = segment_references.unknown
    segment = factories.segment(brand)
    waiting = EarningRule(
        brand=brand,
        kind="scan-auth",
        reward_value=5,
        without_end=True,
        conditions={"all": [row("segment", "in", [segment.pk])]},
    )

    def check_then_deleted(brand_id, segment_ids):
        missing = unknown(brand_id, segment_ids)
        at_once(lambda _: uses.delete(segment), [None], threads=1)
        return missing

    monkeypatch.setattr(segment_references, "unknown", check_then_deleted)
    with transaction.atomic():
        assert checks.problems_of(waiting) == {}
        waiting.save()

    assert EarningRule.objects.exists()
    assert not Segment.objects.exists()
