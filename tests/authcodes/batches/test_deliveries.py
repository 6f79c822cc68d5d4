"""Which codes are in the shops: spans of numbers, deliveries that staff note and undo, and who may."""

import random
import time
from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone, translation

from authcodes.admin.batches.strip import MIN_GAP, MIN_WIDTH, WIDTH, span_boxes
from authcodes.codes import deliveries
from authcodes.codes.history import CodeChangeContext, change_of
from authcodes.codes.numbering import numbering_of
from authcodes.codes.ranges import full_range, resolve_range
from authcodes.codes.spans import Span, add, inside, joined, remove, size_of
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from brands.models.audit import AuditLogEntry
from tests.authcodes.batches.batch_pages import deliver, page, stage, undo
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False, range_name="Spring", starting_number=101)


# --- Spans of numbers


@pytest.mark.parametrize(
    ("pairs", "covered"),
    [
        ([], []),
        ([(1, 3), (4, 5)], [(1, 5)]),
        ([(7, 9), (1, 3), (2, 2)], [(1, 3), (7, 9)]),
        ([(1, 9), (2, 3)], [(1, 9)]),
    ],
)
def test_what_spans_cover(pairs, covered):
    result = joined(Span(*pair) for pair in pairs)

    assert [(each.first, each.last) for each in result] == covered
    assert size_of(result) == len({number for first, last in pairs for number in range(first, last + 1)})


@pytest.mark.parametrize("taken", [(0, 0), (1, 10), (4, 5), (1, 2), (3, 3), (6, 7), (5, 8), (9, 12)])
def test_what_is_left_without_a_span_and_what_lies_inside(taken):
    rest = [Span(1, 5), Span(8, 10)]
    remove(rest, Span(*taken))
    inner = inside([Span(1, 5), Span(8, 10)], Span(*taken))

    numbers = {1, 2, 3, 4, 5, 8, 9, 10}
    cut = set(range(taken[0], taken[1] + 1))
    assert {number for each in rest for number in range(each.first, each.last + 1)} == numbers - cut
    assert {number for each in inner for number in range(each.first, each.last + 1)} == numbers & cut


def test_spans_that_change_one_by_one_are_what_all_changes_leave():
    chance = random.Random(5)
    for _round in range(60):
        spans, numbers = [], set()
        for _change in range(30):
            first = chance.randint(1, 40)
            span = Span(first, first + chance.randint(0, 6))
            covered = set(range(span.first, span.last + 1))
            if chance.random() < 0.6:
                add(spans, span)
                numbers |= covered
            else:
                remove(spans, span)
                numbers -= covered
            assert {number for each in spans for number in range(each.first, each.last + 1)} == numbers
            assert all(one.last + 1 < next_one.first for one, next_one in pairwise(spans))


# --- In the shops


def test_what_was_delivered_is_in_the_shops_until_it_is_undone(client, batch):
    assert (deliver(batch, 101, 104), deliver(batch, 103, 106)) == (4, 2)
    assert (deliver(batch, 101, 106), undo(batch, 102, 103), undo(batch, 109, 110)) == (0, 2, 0)

    assert deliveries.delivered(batch) == [Span(101, 101), Span(104, 106)]
    assert stage(page(client, batch), "delivered").number == 4
    kinds = [(each.kind, each.codes) for each in batch.changes.exclude(kind="generated").order_by("pk")]
    assert kinds == [("delivered", 4), ("delivered", 2), ("delivery_undone", 2)]


def test_the_page_of_a_delivery_notes_day_place_and_who_did_it(client, owner, batch):
    its = address("authcodes.batchrange", "deliver", batch.pk)
    begun = client.get(its, {"first": "AB-0102", "last": "AB-0105"})
    assert [begun.context["form"][name].value() for name in ("first", "last")] == ["AB-0102", "AB-0105"]
    sent = {"first": "102", "last": "105", "day": "2026-01-31", "place": "Berlin Mitte"}

    answer = client.post(its, sent)
    again = client.post(its, sent, follow=True)

    assert answer["Location"] == address("authcodes.batchrange", "change", batch.pk)
    [note] = batch.changes.filter(kind="delivered")
    assert (note.codes, note.detail, note.changed_by) == (4, "Delivered on 2026-01-31\nBerlin Mitte", owner)
    assert "These codes are in the shops already." in text(again)
    assert AuditLogEntry.objects.filter(kind="authcodes.batchrange", action="Delivered to shops").exists()
    assert "Delivered to shops" in text(page(client, batch, tab="history"))


def test_a_delivery_is_undone_with_a_reason(client, batch):
    deliver(batch, 101, 110)
    its = address("authcodes.batchrange", "undeliver", batch.pk)

    refused = client.post(its, {"first": "101", "last": "105"})
    client.post(its, {"first": "101", "last": "105", "reason": "Came back"})

    assert list(refused.context["form"].errors) == ["reason"]
    assert deliveries.delivered(batch) == [Span(106, 110)]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"first": "99"}, "first"),
        ({"last": "111"}, "last"),
        ({"first": "105", "last": "104"}, "last"),
        ({"day": "31.1.2026"}, "day"),
        ({"day": ""}, "day"),
        ({"day": (timezone.now() + timedelta(days=3)).date().isoformat()}, "day"),
        ({"place": "x" * 121}, "place"),
        ({"first": "\0"}, "first"),
    ],
)
def test_a_wrong_delivery_is_answered_at_its_field_and_notes_nothing(client, batch, fields, field):
    sent = {"first": "101", "last": "105", "day": "2026-01-31", "place": "Berlin", **fields}

    refused = client.post(address("authcodes.batchrange", "deliver", batch.pk), sent)

    assert list(refused.context["form"].errors) == [field]
    assert sent["place"] in text(refused)
    assert deliveries.delivered(batch) == []


@pytest.mark.parametrize(("role", "status"), [("manager", 200), ("printer", 200), ("support", 403)])
@pytest.mark.parametrize("act", ["deliver", "undeliver"])
def test_deliveries_are_noted_by_those_who_may_change_codes(brand, batch, role, status, act):
    its = address("authcodes.batchrange", act, batch.pk)

    assert browser(staff(brand, role=role)).get(its).status_code == status
    assert browser(staff(factories.brand())).get(its).status_code == 404


def test_codes_without_numbers_are_delivered_all_at_once(brand):
    codes = factories.batch(brand, quantity=3)
    BatchRange.objects.filter(pk=codes.pk).update(printed_elsewhere=True)
    codes.refresh_from_db()
    at = timezone.now()

    assert deliveries.deliver(codes=full_range(codes), day=at.date(), place="", by=None, at=at) == 3
    with pytest.raises(BatchRejected):
        single = resolve_range(batch=codes, first=codes.first_code, last=codes.first_code)
        deliveries.deliver(codes=single, day=at.date(), place="", by=None, at=at)
    assert size_of(deliveries.delivered(codes)) == 3


@pytest.mark.django_db(transaction=True)
def test_two_who_note_the_same_delivery_at_once_note_it_once(batch):
    counts = at_once(lambda _number: deliver(batch, 101, 110), range(8))

    assert sorted(counts) == [0] * 7 + [10]
    assert batch.changes.filter(kind="delivered").count() == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_batchs_lock_it_would_be_noted_twice(batch, monkeypatch):
    monkeypatch.setattr("django.db.models.query.QuerySet.select_for_update", lambda rows, **_options: rows)
    slow = deliveries.inside
    monkeypatch.setattr(deliveries, "inside", lambda *given: (__import__("time").sleep(0.2), slow(*given))[1])

    counts = at_once(lambda _number: deliver(batch, 101, 110), range(4))

    assert sum(counts) > 10


def test_the_history_knows_a_delivery_of_a_code(client, batch):
    deliver(batch, 103, 104)
    code = AuthCode.objects.get(code="AB-0103")

    assert "Delivered to shops" in text(client.get(address("authcodes.authcode", "change", code.pk)))
    assert CodeChange.objects.filter(kind="delivered").count() == 1


@pytest.mark.parametrize("language", ["de", "ar"])
def test_a_delivery_is_stored_in_english_whatever_staff_read(batch, language):
    with translation.override(language):
        deliver(batch, 101, 102)

    assert batch.changes.get(kind="delivered").detail == "Delivered on 2026-01-31\nBerlin"


# --- Very many


def noted(batch, kind, numbers):
    """As history.py writes it, all at once."""
    numbering, by = numbering_of(batch), CodeChangeContext(kind, timezone.now())
    codes = [numbering.code(number) for number in numbers]
    CodeChange.objects.bulk_create([change_of(by, batch, code, code, 1) for code in codes], batch_size=500)


@pytest.fixture
def scattered(brand):
    """Every other code of the first 4,000 in the shops, and as many notes of which nothing is left."""
    batch = factories.batch(brand, prefix="MANY-", number_width=6, quantity=20_000)
    noted(batch, CodeChange.Kind.DELIVERED, [*range(1, 4001, 2), *range(10_001, 14_001, 2)])
    noted(batch, CodeChange.Kind.DELIVERY_UNDONE, range(10_001, 14_001, 2))
    return batch


def test_thousands_of_notes_are_read_by_one_statement_in_no_time(scattered, django_assert_num_queries):
    begin = time.process_time()
    with django_assert_num_queries(1):
        spans = deliveries.delivered(scattered)

    assert time.process_time() - begin < 0.5  # seconds; 6,000 notes, each sorted anew, take many
    assert spans == [Span(number, number) for number in range(1, 4001, 2)]


def test_a_page_draws_thousands_of_ranges_as_boxes_that_the_eye_can_keep_apart(client, scattered):
    def boxes_of(**query):
        lanes = page(client, scattered, **query).context["batch_figures"]["strip"].lanes
        return next(each.boxes for each in lanes if each.name == "delivered")

    assert [(box.x, box.width, box.title) for box in boxes_of()] == [("0.0", "239.9", "In the shops: 2,000")]
    closer = boxes_of(first="1", last="100")
    assert (len(closer), {box.opacity for box in closer}) == (50, {"1.00"})


@pytest.mark.parametrize("apart", [2, 3, 4, 7, 50])
def test_a_lane_never_has_more_boxes_than_it_has_room_for(apart):
    spans = [Span(number, number) for number in range(1, 2000 * apart, apart)]

    boxes = span_boxes(spans, Span(1, 2000 * apart), "Printed")

    assert len(boxes) <= WIDTH / (MIN_WIDTH + MIN_GAP)
    edges = [(float(box.x), float(box.x) + float(box.width)) for box in boxes]
    assert all(one[1] <= next_one[0] for one, next_one in pairwise(edges))


def test_too_many_separate_ranges_are_refused_and_what_joins_them_is_not(client, scattered):
    its = address("authcodes.batchrange", "deliver", scattered.pk)
    sent = {"first": "9000", "last": "9000", "day": "2026-01-31", "place": ""}

    refused = client.post(its, sent)

    assert refused.context["form"].errors["first"] == [
        "This batch has 2,000 separate ranges in the shops already. Mark whole ranges, not single codes."
    ]
    assert client.post(its, {**sent, "first": "2", "last": "2"}).status_code == 302  # joins two of them
    assert len(deliveries.delivered(scattered)) == deliveries.MAX_RANGES - 1
    assert deliver(scattered, 9000, 9100) == 101
    with pytest.raises(BatchRejected, match="Undo whole deliveries"):
        undo(scattered, 9050, 9050)
    assert undo(scattered, 9000, 9100) == 101
