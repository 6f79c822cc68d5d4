"""Who is in a segment: evaluated as a whole, and again for those whom something or only the time has changed."""

from datetime import timedelta

import pytest
from django.db import DataError
from django.utils import timezone

from campaigns.segments import consistency, evaluate
from campaigns.segments.evaluate import Evaluation
from core import personal_data
from core.db import sql
from loyalty.members import blocking
from loyalty.models.accounts import UserPoints
from loyalty.models.programme.segments import Segment, SegmentMember
from loyalty.notifications import preferences
from tests.support import factories
from tests.support.portal import scan

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def members(segment):
    rows = SegmentMember.objects.filter(segment=segment).values_list("account__user_id", flat=True)
    return set(rows)


def evaluated(segment, *, at=None):
    return evaluate.evaluate(segment.pk, at=at or timezone.now())


def settled(brand):
    """As if everything had happened long ago: nothing counts as changed."""
    UserPoints.objects.filter(brand=brand).update(updated_at=timezone.now() - timedelta(days=9))


def test_a_new_segment_is_evaluated_as_a_whole(brand):
    rich, poor = factories.customer(brand), factories.customer(brand)
    factories.points(rich, brand, 100)
    segment = factories.segment(brand, ("balance", "at_least", 50))
    at = timezone.now()

    assert evaluated(segment, at=at) == Evaluation(joined=1, left=0, touched=None)
    segment.refresh_from_db()
    assert members(segment) == {rich.pk} != {poor.pk}
    assert (segment.member_count, segment.evaluated_at, segment.fully_evaluated_at) == (1, at, at)
    [member] = SegmentMember.objects.all()
    assert (member.brand_id, member.since) == (brand.pk, at)


def test_only_members_who_changed_are_evaluated_again(brand):
    rich, poor, third = (factories.customer(brand) for _ in range(3))
    factories.points(rich, brand, 100)
    segment = factories.segment(brand, ("balance", "at_least", 50))
    evaluated(segment)
    settled(brand)
    SegmentMember.objects.filter(account__user=rich).update(since=timezone.now() - HOUR)
    factories.points(poor, brand, 60)

    assert evaluated(segment) == Evaluation(joined=1, left=0, touched=1)
    assert members(segment) == {rich.pk, poor.pk}
    settled(brand)
    blocking.set_status(accounts=[factories.account(rich, brand)], status=UserPoints.Status.BLOCKED, at=timezone.now())
    assert evaluated(segment) == Evaluation(joined=0, left=1, touched=1)
    assert members(segment) == {poor.pk} != {third.pk}
    assert Segment.objects.get().member_count == 1


def test_a_scan_that_earns_nothing_counts_as_a_change(brand, customer):
    segment = factories.segment(brand, ("scans", "at_least", {"count": 1, "days": 30}))
    evaluated(segment)
    settled(brand)
    scan(factories.code(brand), user=customer)

    assert evaluated(segment) == Evaluation(joined=1, left=0, touched=1)


def test_wishes_count_as_a_change(brand, customer):
    segment = factories.segment(brand, ("consent", "in", ["offers/email"]))
    evaluated(segment)
    settled(brand)
    preferences.opt_out(customer.pk, brand.pk, channel="email", topics=["offers"], at=timezone.now())

    assert evaluated(segment) == Evaluation(joined=0, left=1, touched=1)


BY_TIME = {
    "a scan leaves the window": (("scans", "at_least", {"count": 1, "days": 30}), True, False),
    "the last scan is long ago": (("scans", "at_most", {"count": 0, "days": 30}), False, True),
    "silent for so long": (("days_since_last", "at_least", 30), False, True),
    "no longer active": (("days_since_last", "at_most", 29), True, False),
    "a member for so long": (("days_since_enrolled", "at_least", 30), False, True),
    "no longer new": (("days_since_enrolled", "at_most", 29), True, False),
}


@pytest.mark.parametrize(("row", "before", "after"), BY_TIME.values(), ids=list(BY_TIME))
def test_members_come_and_go_as_time_passes_without_doing_anything(brand, customer, row, before, after):
    """Nobody but the one whose bound has passed is evaluated again."""
    now = timezone.now()
    begun = now - timedelta(days=30) + HOUR  # in an hour it is 30 days ago
    for who, moment in ((customer, begun), (factories.customer(brand), now - timedelta(days=90))):
        scan(factories.code(brand), user=who, scanned_at=moment)
        factories.points(who, brand, 1, at=moment)
        UserPoints.objects.filter(user=who).update(enrolled_at=moment)
    segment = factories.segment(brand, row)
    evaluated(segment, at=now)
    settled(brand)
    assert (customer.pk in members(segment)) == before

    result = evaluated(segment, at=now + 2 * HOUR)

    assert (customer.pk in members(segment)) == after
    assert result.touched == 1


def test_what_is_evaluated_in_parts_is_what_is_evaluated_as_a_whole(brand):
    """Many members with many histories, an hour after the other: each time both ways say the same."""
    now = timezone.now()
    code = factories.code(brand)
    people = [factories.customer(brand) for _ in range(12)]
    for number, who in enumerate(people):
        for step in range(number % 4):
            moment = now - timedelta(days=10 * step + 7, hours=number)
            scan(code, user=who, scanned_at=moment)
            factories.points(who, brand, 10 * number, at=moment)
        UserPoints.objects.filter(user=who).update(enrolled_at=now - timedelta(days=30, hours=number))
    segment = factories.segment(
        brand,
        name="mixed",
        conditions={
            "any": [
                {"field": "scans", "operator": "at_least", "value": {"count": 2, "days": 17}},
                {"field": "days_since_last", "operator": "between", "value": [8, 20]},
                {"none": [{"field": "days_since_enrolled", "operator": "at_least", "value": 30}]},
            ]
        },
    )
    evaluated(segment, at=now)
    settled(brand)
    changes = 0
    for hour in range(1, 20):
        parts = evaluated(segment, at=now + hour * HOUR)
        assert parts.touched is not None
        changes += parts.joined + parts.left
        result = members(segment)
        Segment.objects.filter(pk=segment.pk).update(fully_evaluated_at=None)  # so that all members are evaluated
        assert evaluated(segment, at=now + hour * HOUR) == Evaluation(0, 0, None)
        assert members(segment) == result
    assert changes > 3


def test_everybody_is_evaluated_again_where_the_question_has_changed(brand, customer):
    gold = factories.level(brand, "Gold", threshold=100)
    segment = factories.segment(brand, ("level", "at_least", "Gold"))
    evaluated(segment)
    brand.levels.exclude(pk=gold.pk).delete()  # now Gold is the lowest level

    assert evaluated(segment) == Evaluation(joined=1, left=0, touched=None)
    segment.conditions = {"all": [{"field": "balance", "operator": "at_least", "value": 1}]}
    segment.save(update_fields=["conditions"])
    assert evaluated(segment) == Evaluation(joined=0, left=1, touched=None)


def test_everybody_is_evaluated_again_once_a_day(brand):
    segment, at = factories.segment(brand), timezone.now()
    evaluated(segment, at=at)

    assert evaluated(segment, at=at + timedelta(hours=23)).touched is not None
    assert evaluated(segment, at=at + timedelta(hours=24)).touched is None


def test_whoever_compares_members_evaluates_all_of_them_but_not_as_often(brand):
    """Nobody but Ben does anything, and Ada, who was the best of four, is no longer."""
    ada, ben, *_more = (factories.customer(brand) for _ in range(4))
    now = timezone.now()
    factories.points(ada, brand, 10, at=now - timedelta(days=2))
    segment = factories.segment(brand, ("value", "is", 5))
    evaluated(segment, at=now)
    assert members(segment) == {ada.pk}
    factories.points(ben, brand, 20, at=now)

    assert evaluated(segment, at=now + timedelta(minutes=59)) is None
    assert evaluated(segment, at=now + HOUR) == Evaluation(joined=1, left=1, touched=None)
    assert members(segment) == {ben.pk}


def test_many_changes_are_evaluated_in_portions_or_as_a_whole(brand, monkeypatch):
    segment = factories.segment(brand, ("balance", "at_least", 5))
    evaluated(segment)
    for number in range(7):
        factories.points(factories.customer(brand), brand, number)

    monkeypatch.setattr(evaluate, "AT_ONCE", 2)
    assert evaluated(segment) == Evaluation(joined=2, left=0, touched=7)
    monkeypatch.setattr(evaluate, "MAX_TOUCHED", 6)
    assert evaluated(segment) == Evaluation(joined=0, left=0, touched=None)


def test_conditions_that_can_no_longer_be_read_leave_the_members_as_they_were(brand, customer):
    gold = factories.level(brand, "Gold", threshold=100)
    segment = factories.segment(brand, ("level", "not_in", ["Gold"]))
    evaluated(segment)
    gold.delete()

    assert evaluated(segment) is None
    assert members(segment) == {customer.pk}


def test_the_task_evaluates_what_is_due(brand):
    now = timezone.now()
    new, old, recent = (factories.segment(brand) for _ in range(3))
    tried(old, at=now - HOUR)
    tried(recent, at=now)

    assert evaluate.due(at=now) == [new.pk, old.pk]
    assert evaluate.catch_up(at=now) == 2
    assert evaluate.due(at=timezone.now()) == []


def tried(segment, *, at):
    Segment.objects.filter(pk=segment.pk).update(tried_at=at)


def test_one_that_cannot_be_evaluated_holds_up_no_other_and_waits_for_its_turn(brand, customer, monkeypatch):
    faulty, sound = factories.segment(brand), factories.segment(factories.brand())
    write = evaluate._write

    def fails(segment, *arguments):
        if segment.pk == faulty.pk:
            raise DataError
        return write(segment, *arguments)

    monkeypatch.setattr(evaluate, "_write", fails)

    assert evaluate.catch_up(at=timezone.now()) == 1
    sound.refresh_from_db()
    assert sound.evaluated_at is not None
    assert evaluate.due(at=timezone.now()) == []
    assert faulty.pk in evaluate.due(at=timezone.now() + evaluate.INTERVAL)


def test_brands_take_turns(brand):
    many = [factories.segment(brand) for _ in range(3)]
    others = [factories.segment(factories.brand()) for _ in range(2)]

    first, second, third = evaluate.due(at=timezone.now())[:3]

    assert {first, second, third} == {many[0].pk, *(each.pk for each in others)}


def test_a_changed_segment_is_due_at_once(brand):
    segment = factories.segment(brand)
    evaluated(segment)
    Segment.objects.update(plan_fingerprint="", tried_at=None)

    assert evaluate.due(at=timezone.now()) == [segment.pk]


def test_nobody_of_another_brand_is_ever_a_member(brand):
    other = factories.brand()
    for who in (factories.customer(other), factories.customer(brand)):
        scan(factories.code(other), user=who)
    segment = factories.segment(other, ("scans", "at_least", {"count": 1, "days": 9}))

    evaluated(segment)

    accounts = SegmentMember.objects.filter(segment=segment).values_list("account__brand", "brand")
    assert list(accounts) == [(other.pk, other.pk)]


def test_segments_are_part_of_a_member_s_data_and_go_with_it(brand, customer):
    segment = factories.segment(brand, name="Everybody")
    evaluated(segment)
    topic = dict(personal_data.topics())["segments"]

    assert [row["segment__name"] for row in topic.export(customer.pk, brand.pk)] == ["Everybody"]
    topic.erase(customer.pk, brand.pk, to=factories.user().pk, at=timezone.now())
    assert list(topic.export(customer.pk, brand.pk)) == []


@pytest.mark.usefixtures("customer")
def test_a_member_of_another_brand_would_be_a_contradiction(brand):
    evaluated(factories.segment(brand))
    statement = consistency.CHECKS["segment has a member of another brand"]
    assert sql.rows(statement, {}) == []

    SegmentMember.objects.update(brand=factories.brand())

    assert len(sql.rows(statement, {})) == 1
