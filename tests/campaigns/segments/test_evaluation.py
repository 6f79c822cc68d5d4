"""Evaluation of segments: as a whole, and again for the members whom an action or only time has affected."""

from datetime import timedelta

import pytest
from django.db import DataError, connection
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


def member_ids(segment):
    rows = SegmentMember.objects.filter(segment=segment).values_list("account__user_id", flat=True)
    return set(rows)


def evaluate_segment(segment, *, at=None):
    return evaluate.evaluate(segment.pk, at=at or timezone.now())


def reset_changes(brand):
    """Date all accounts back, so that none counts as changed."""
    UserPoints.objects.filter(brand=brand).update(updated_at=timezone.now() - timedelta(days=9))


def test_a_new_segment_is_evaluated_as_a_whole(brand):
    rich, _poor = factories.customer(brand), factories.customer(brand)
    factories.points(rich, brand, 100)
    segment = factories.segment(brand, ("balance", "at_least", 50))
    at = timezone.now()

    assert evaluate_segment(segment, at=at) == Evaluation(joined=1, left=0, touched=None)
    segment.refresh_from_db()
    assert member_ids(segment) == {rich.pk}
    assert (segment.member_count, segment.evaluated_at, segment.fully_evaluated_at) == (1, at, at)
    [member] = SegmentMember.objects.all()
    assert (member.brand_id, member.since) == (brand.pk, at)


def test_only_members_who_changed_are_evaluated_again(brand):
    rich, poor, _third = (factories.customer(brand) for _ in range(3))
    factories.points(rich, brand, 100)
    segment = factories.segment(brand, ("balance", "at_least", 50))
    evaluate_segment(segment)
    reset_changes(brand)
    SegmentMember.objects.filter(account__user=rich).update(since=timezone.now() - HOUR)
    factories.points(poor, brand, 60)

    assert evaluate_segment(segment) == Evaluation(joined=1, left=0, touched=1)
    assert member_ids(segment) == {rich.pk, poor.pk}
    reset_changes(brand)
    blocking.set_status(accounts=[factories.account(rich, brand)], status=UserPoints.Status.BLOCKED, at=timezone.now())
    assert evaluate_segment(segment) == Evaluation(joined=0, left=1, touched=1)
    assert member_ids(segment) == {poor.pk}
    assert Segment.objects.get().member_count == 1


def test_a_scan_that_earns_nothing_counts_as_a_change(brand, customer):
    segment = factories.segment(brand, ("scans", "at_least", {"count": 1, "days": 30}))
    evaluate_segment(segment)
    reset_changes(brand)
    scan(factories.code(brand), user=customer)

    assert evaluate_segment(segment) == Evaluation(joined=1, left=0, touched=1)


def test_notification_preferences_count_as_a_change(brand, customer):
    segment = factories.segment(brand, ("consent", "in", ["offers/email"]))
    evaluate_segment(segment)
    reset_changes(brand)
    preferences.opt_out(customer.pk, brand.pk, channel="email", topics=["offers"], at=timezone.now())

    assert evaluate_segment(segment) == Evaluation(joined=0, left=1, touched=1)


BY_TIME = {
    "a scan leaves the window": (("scans", "at_least", {"count": 1, "days": 30}), True, False),
    "the last scan is long ago": (("scans", "at_most", {"count": 0, "days": 30}), False, True),
    "silent for so long": (("days_since_last", "at_least", 30), False, True),
    "no longer active": (("days_since_last", "at_most", 29), True, False),
    "a member for so long": (("days_since_enrolled", "at_least", 30), False, True),
    "no longer new": (("days_since_enrolled", "at_most", 29), True, False),
}


@pytest.mark.parametrize(("row", "before", "after"), BY_TIME.values(), ids=list(BY_TIME))
def test_members_join_and_leave_as_time_passes(brand, customer, row, before, after):
    """Only the member whose bound has passed is evaluated again."""
    now = timezone.now()
    begun = now - timedelta(days=30) + HOUR  # in an hour it is 30 days ago
    for member, moment in ((customer, begun), (factories.customer(brand), now - timedelta(days=90))):
        scan(factories.code(brand), user=member, scanned_at=moment)
        factories.points(member, brand, 1, at=moment)
        UserPoints.objects.filter(user=member).update(enrolled_at=moment)
    segment = factories.segment(brand, row)
    evaluate_segment(segment, at=now)
    reset_changes(brand)
    assert (customer.pk in member_ids(segment)) == before

    result = evaluate_segment(segment, at=now + 2 * HOUR)

    assert (customer.pk in member_ids(segment)) == after
    assert result.touched == 1


def test_partial_evaluation_equals_full_evaluation(brand):
    """Members with different histories, evaluated hour by hour: each time both ways agree."""
    now = timezone.now()
    code = factories.code(brand)
    customers = [factories.customer(brand) for _ in range(12)]
    for number, member in enumerate(customers):
        for step in range(number % 4):
            moment = now - timedelta(days=10 * step + 7, hours=number)
            scan(code, user=member, scanned_at=moment)
            factories.points(member, brand, 10 * number, at=moment)
        UserPoints.objects.filter(user=member).update(enrolled_at=now - timedelta(days=30, hours=number))
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
    evaluate_segment(segment, at=now)
    reset_changes(brand)
    changes = 0
    for hour in range(1, 20):
        parts = evaluate_segment(segment, at=now + hour * HOUR)
        assert parts.touched is not None
        changes += parts.joined + parts.left
        result = member_ids(segment)
        Segment.objects.filter(pk=segment.pk).update(fully_evaluated_at=None)  # so that all members are evaluated
        assert evaluate_segment(segment, at=now + hour * HOUR) == Evaluation(0, 0, None)
        assert member_ids(segment) == result
    assert changes > 3


def test_changed_conditions_trigger_a_full_evaluation(brand, customer):
    gold = factories.level(brand, "Gold", threshold=100)
    segment = factories.segment(brand, ("level", "at_least", "Gold"))
    evaluate_segment(segment)
    brand.levels.exclude(pk=gold.pk).delete()  # now Gold is the lowest level

    assert evaluate_segment(segment) == Evaluation(joined=1, left=0, touched=None)
    segment.conditions = {"all": [{"field": "balance", "operator": "at_least", "value": 1}]}
    segment.save(update_fields=["conditions"])
    assert evaluate_segment(segment) == Evaluation(joined=0, left=1, touched=None)


def test_all_members_are_evaluated_again_once_a_day(brand):
    segment, at = factories.segment(brand), timezone.now()
    evaluate_segment(segment, at=at)

    assert evaluate_segment(segment, at=at + timedelta(hours=23)).touched is not None
    assert evaluate_segment(segment, at=at + timedelta(hours=24)).touched is None


def test_segment_that_compares_members_is_fully_evaluated_once_an_hour(brand):
    """Only Ben does anything, and Ada is no longer the best of four."""
    ada, ben, *_more = (factories.customer(brand) for _ in range(4))
    now = timezone.now()
    factories.points(ada, brand, 10, at=now - timedelta(days=2))
    segment = factories.segment(brand, ("value", "is", 5))
    evaluate_segment(segment, at=now)
    assert member_ids(segment) == {ada.pk}
    factories.points(ben, brand, 20, at=now)

    assert evaluate_segment(segment, at=now + timedelta(minutes=59)) is None
    assert evaluate_segment(segment, at=now + HOUR) == Evaluation(joined=1, left=1, touched=None)
    assert member_ids(segment) == {ben.pk}


@pytest.fixture
def segment_with_seven_changes(brand):
    """Members with 0 to 6 points have joined since its evaluation; five are enough for it."""
    segment = factories.segment(brand, ("balance", "at_least", 5))
    evaluate_segment(segment)
    for number in range(7):
        factories.points(factories.customer(brand), brand, number)
    return segment


@pytest.mark.parametrize(("at_once", "statements"), [(2, 4), (7, 1)])
def test_many_changes_are_evaluated_in_portions(segment_with_seven_changes, monkeypatch, at_once, statements):
    monkeypatch.setattr(evaluate, "AT_ONCE", at_once)

    executed = []

    def record_and_execute(execute, sql, parameters, many, context):
        executed.append(sql)
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(record_and_execute):
        result = evaluate_segment(segment_with_seven_changes)

    assert result == Evaluation(joined=2, left=0, touched=7)
    assert (
        len([sql for sql in executed if all(each in sql for each in ("INSERT INTO", "loyalty_segmentmember"))])
        == statements
    )


@pytest.mark.parametrize(("max_touched", "touched"), [(7, 7), (6, None)])
def test_too_many_changes_are_evaluated_as_a_whole(segment_with_seven_changes, monkeypatch, max_touched, touched):
    monkeypatch.setattr(evaluate, "MAX_TOUCHED", max_touched)

    assert evaluate_segment(segment_with_seven_changes) == Evaluation(joined=2, left=0, touched=touched)


def test_unreadable_conditions_leave_the_members_unchanged(brand, customer):
    gold = factories.level(brand, "Gold", threshold=100)
    segment = factories.segment(brand, ("level", "not_in", ["Gold"]))
    evaluate_segment(segment)
    gold.delete()

    assert evaluate_segment(segment) is None
    assert member_ids(segment) == {customer.pk}


def test_due_segments_are_evaluated(brand):
    now = timezone.now()
    new, old, recent = (factories.segment(brand) for _ in range(3))
    set_tried_at(old, at=now - HOUR)
    set_tried_at(recent, at=now)

    assert evaluate.due(at=now) == [new.pk, old.pk]
    assert evaluate.catch_up(at=now) == 2
    assert evaluate.due(at=timezone.now()) == []


def set_tried_at(segment, *, at):
    Segment.objects.filter(pk=segment.pk).update(tried_at=at)


def test_failing_segment_delays_no_other_and_waits_for_its_turn(brand, customer, monkeypatch):
    faulty, sound = factories.segment(brand), factories.segment(factories.brand())
    write = evaluate._write

    def write_or_fail(segment, *arguments):
        if segment.pk == faulty.pk:
            raise DataError
        return write(segment, *arguments)

    monkeypatch.setattr(evaluate, "_write", write_or_fail)

    assert evaluate.catch_up(at=timezone.now()) == 1
    sound.refresh_from_db()
    assert sound.evaluated_at is not None
    assert evaluate.due(at=timezone.now()) == []
    assert faulty.pk in evaluate.due(at=timezone.now() + evaluate.INTERVAL)


def test_due_segments_alternate_between_brands(brand):
    many = [factories.segment(brand) for _ in range(3)]
    other_segments = [factories.segment(factories.brand()) for _ in range(2)]

    first, second, third = evaluate.due(at=timezone.now())[:3]

    assert {first, second, third} == {many[0].pk, *(each.pk for each in other_segments)}


def test_segment_that_was_never_tried_is_due(brand):
    segment = factories.segment(brand)
    evaluate_segment(segment)
    Segment.objects.update(plan_fingerprint="", tried_at=None)

    assert evaluate.due(at=timezone.now()) == [segment.pk]


def test_customers_of_another_brand_are_never_members(brand):
    other = factories.brand()
    for member in (factories.customer(other), factories.customer(brand)):
        scan(factories.code(other), user=member)
    segment = factories.segment(other, ("scans", "at_least", {"count": 1, "days": 9}))

    evaluate_segment(segment)

    accounts = SegmentMember.objects.filter(segment=segment).values_list("account__brand", "brand")
    assert list(accounts) == [(other.pk, other.pk)]


def test_segments_are_exported_and_erased_with_a_members_data(brand, customer):
    segment = factories.segment(brand, name="Everybody")
    evaluate_segment(segment)
    topic = dict(personal_data.topics())["segments"]

    assert [row["segment__name"] for row in topic.export(customer.pk, brand.pk)] == ["Everybody"]
    topic.erase(customer.pk, brand.pk, to=factories.user().pk, at=timezone.now())
    assert list(topic.export(customer.pk, brand.pk)) == []


@pytest.mark.usefixtures("customer")
def test_consistency_check_finds_a_member_of_another_brand(brand):
    evaluate_segment(factories.segment(brand))
    statement = consistency.CHECKS["segment has a member of another brand"]
    assert sql.rows(statement, {}) == []

    SegmentMember.objects.update(brand=factories.brand())

    assert len(sql.rows(statement, {})) == 1
