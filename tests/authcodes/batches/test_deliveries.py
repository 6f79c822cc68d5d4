"""Which codes are in the shops: spans of numbers, deliveries that staff record and undo, and their permissions."""

import random
import time
from datetime import timedelta
from itertools import pairwise
from threading import Barrier

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
from tests.support.concurrency import run_concurrently
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
def test_joined_spans_cover_each_number_once(pairs, covered):
    result = joined(Span(*pair) for pair in pairs)

    assert [(each.first, each.last) for each in result] == covered
    assert size_of(result) == len({number for first, last in pairs for number in range(first, last + 1)})


@pytest.mark.parametrize("taken", [(0, 0), (1, 10), (4, 5), (1, 2), (3, 3), (6, 7), (5, 8), (9, 12)])
def test_remove_and_inside_split_spans_by_another_span(taken):
    remaining = [Span(1, 5), Span(8, 10)]
    remove(remaining, Span(*taken))
    common = inside([Span(1, 5), Span(8, 10)], Span(*taken))

    numbers = {1, 2, 3, 4, 5, 8, 9, 10}
    removed_numbers = set(range(taken[0], taken[1] + 1))
    assert {number for each in remaining for number in range(each.first, each.last + 1)} == numbers - removed_numbers
    assert {number for each in common for number in range(each.first, each.last + 1)} == numbers & removed_numbers


def test_added_and_removed_spans_match_a_set_of_numbers():
    random_generator = random.Random(5)
    for _ in range(60):
        spans, numbers = [], set()
        for _change in range(30):
            first = random_generator.randint(1, 40)
            span = Span(first, first + random_generator.randint(0, 6))
            covered = set(range(span.first, span.last + 1))
            if random_generator.random() < 0.6:
                add(spans, span)
                numbers |= covered
            else:
                remove(spans, span)
                numbers -= covered
            assert {number for each in spans for number in range(each.first, each.last + 1)} == numbers
            assert all(one.last + 1 < next_one.first for one, next_one in pairwise(spans))


# --- In the shops


def test_delivered_codes_are_in_the_shops_until_the_delivery_is_undone(client, batch):
    assert (deliver(batch, 101, 104), deliver(batch, 103, 106)) == (4, 2)
    assert (deliver(batch, 101, 106), undo(batch, 102, 103), undo(batch, 109, 110)) == (0, 2, 0)

    assert deliveries.delivered(batch) == [Span(101, 101), Span(104, 106)]
    assert stage(page(client, batch), "delivered").number == 4
    kinds = [(each.kind, each.codes) for each in batch.changes.exclude(kind="generated").order_by("pk")]
    assert kinds == [("delivered", 4), ("delivered", 2), ("delivery_undone", 2)]


def test_delivery_form_records_day_place_and_user(client, owner, batch):
    url = address("authcodes.batchrange", "deliver", batch.pk)
    form_page = client.get(url, {"first": "AB-0102", "last": "AB-0105"})
    assert [form_page.context["form"][name].value() for name in ("first", "last")] == ["AB-0102", "AB-0105"]
    form_data = {"first": "102", "last": "105", "day": "2026-01-31", "place": "Berlin Mitte"}

    answer = client.post(url, form_data)
    again = client.post(url, form_data, follow=True)

    assert answer["Location"] == address("authcodes.batchrange", "change", batch.pk)
    [change] = batch.changes.filter(kind="delivered")
    assert (change.codes, change.detail, change.changed_by) == (4, "Delivered on 2026-01-31\nBerlin Mitte", owner)
    assert "These codes are in the shops already." in text(again)
    assert AuditLogEntry.objects.filter(kind="authcodes.batchrange", action="Delivered to shops").exists()
    assert "Delivered to shops" in text(page(client, batch, tab="history"))


def test_undoing_a_delivery_needs_a_reason(client, batch):
    deliver(batch, 101, 110)
    url = address("authcodes.batchrange", "undeliver", batch.pk)

    response = client.post(url, {"first": "101", "last": "105"})
    client.post(url, {"first": "101", "last": "105", "reason": "Came back"})

    assert list(response.context["form"].errors) == ["reason"]
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
def test_invalid_delivery_gets_a_field_error_and_records_nothing(client, batch, fields, field):
    form_data = {"first": "101", "last": "105", "day": "2026-01-31", "place": "Berlin", **fields}

    response = client.post(address("authcodes.batchrange", "deliver", batch.pk), form_data)

    assert list(response.context["form"].errors) == [field]
    assert form_data["place"] in text(response)
    assert deliveries.delivered(batch) == []


@pytest.mark.parametrize(("role", "status"), [("manager", 200), ("printer", 200), ("support", 403)])
@pytest.mark.parametrize("action", ["deliver", "undeliver"])
def test_deliveries_need_the_permission_to_change_codes(brand, batch, role, status, action):
    url = address("authcodes.batchrange", action, batch.pk)

    assert browser(staff(brand, role=role)).get(url).status_code == status
    assert browser(staff(factories.brand())).get(url).status_code == 404


def test_codes_without_numbers_can_only_be_delivered_as_a_whole_batch(brand):
    batch = factories.batch(brand, quantity=3)
    BatchRange.objects.filter(pk=batch.pk).update(printed_elsewhere=True)
    batch.refresh_from_db()
    at = timezone.now()

    assert deliveries.deliver(codes=full_range(batch), day=at.date(), place="", by=None, at=at) == 3
    with pytest.raises(BatchRejected):
        single = resolve_range(batch=batch, first=batch.first_code, last=batch.first_code)
        deliveries.deliver(codes=single, day=at.date(), place="", by=None, at=at)
    assert size_of(deliveries.delivered(batch)) == 3


@pytest.mark.django_db(transaction=True)
def test_concurrent_equal_deliveries_are_recorded_once(batch):
    counts = run_concurrently(lambda _number: deliver(batch, 101, 110), range(8))

    assert sorted(counts) == [0] * 7 + [10]
    assert batch.changes.filter(kind="delivered").count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_batch_lock_a_delivery_is_recorded_repeatedly(batch, monkeypatch):
    original, barrier = deliveries.inside, Barrier(4)

    def wait_then_compare(*spans):
        barrier.wait(timeout=10)  # seconds
        return original(*spans)

    monkeypatch.setattr("django.db.models.query.QuerySet.select_for_update", lambda rows, **_options: rows)
    monkeypatch.setattr(deliveries, "inside", wait_then_compare)

    counts = run_concurrently(lambda _number: deliver(batch, 101, 110), range(4))

    assert counts == [10] * 4
    assert batch.changes.filter(kind="delivered").count() == 4


def test_delivery_is_in_the_history_of_its_codes(client, batch):
    deliver(batch, 103, 104)
    code = AuthCode.objects.get(code="AB-0103")

    assert "Delivered to shops" in text(client.get(address("authcodes.authcode", "change", code.pk)))
    assert CodeChange.objects.filter(kind="delivered").count() == 1


@pytest.mark.parametrize("language", ["de", "ar"])
def test_delivery_is_stored_in_english_in_every_language(batch, language):
    with translation.override(language):
        deliver(batch, 101, 102)

    assert batch.changes.get(kind="delivered").detail == "Delivered on 2026-01-31\nBerlin"


# --- Thousands of deliveries


def create_changes(batch, kind, numbers):
    """Creates the rows that history.py writes, in bulk."""
    numbering, context = numbering_of(batch), CodeChangeContext(kind, timezone.now())
    codes = [numbering.code(number) for number in numbers]
    CodeChange.objects.bulk_create([change_of(context, batch, code, code, 1) for code in codes], batch_size=500)


@pytest.fixture
def batch_with_many_deliveries(brand):
    """A batch with every other one of its first 4,000 codes in the shops, and as many deliveries that were undone."""
    batch = factories.batch(brand, prefix="MANY-", number_width=6, quantity=20_000)
    create_changes(batch, CodeChange.Kind.DELIVERED, [*range(1, 4001, 2), *range(10_001, 14_001, 2)])
    create_changes(batch, CodeChange.Kind.DELIVERY_UNDONE, range(10_001, 14_001, 2))
    return batch


def test_thousands_of_deliveries_are_read_fast_with_one_statement(
    batch_with_many_deliveries, django_assert_num_queries
):
    start = time.process_time()
    with django_assert_num_queries(1):
        spans = deliveries.delivered(batch_with_many_deliveries)

    assert time.process_time() - start < 0.5  # seconds; sorting again for each of the 6,000 changes takes much longer
    assert spans == [Span(number, number) for number in range(1, 4001, 2)]


def test_page_draws_thousands_of_delivered_ranges_as_few_boxes(client, batch_with_many_deliveries):
    def boxes_of(**query):
        lanes = page(client, batch_with_many_deliveries, **query).context["batch_figures"]["strip"].lanes
        return next(each.boxes for each in lanes if each.name == "delivered")

    assert [(box.x, box.width, box.title) for box in boxes_of()] == [("0.0", "239.9", "In the shops: 2,000")]
    zoomed = boxes_of(first="1", last="100")
    assert (len(zoomed), {box.opacity for box in zoomed}) == (50, {"1.00"})


@pytest.mark.parametrize("distance", [2, 3, 4, 7, 50])
def test_lane_never_has_more_boxes_than_fit(distance):
    spans = [Span(number, number) for number in range(1, 2000 * distance, distance)]

    boxes = span_boxes(spans, Span(1, 2000 * distance), "Printed")

    assert len(boxes) <= WIDTH / (MIN_WIDTH + MIN_GAP)
    edges = [(float(box.x), float(box.x) + float(box.width)) for box in boxes]
    assert all(one[1] <= next_one[0] for one, next_one in pairwise(edges))


def test_delivery_above_the_limit_of_ranges_is_rejected_unless_it_joins_some(client, batch_with_many_deliveries):
    url = address("authcodes.batchrange", "deliver", batch_with_many_deliveries.pk)
    form_data = {"first": "9000", "last": "9000", "day": "2026-01-31", "place": ""}

    response = client.post(url, form_data)

    assert response.context["form"].errors["first"] == [
        "This batch has 2,000 separate ranges in the shops already. Mark whole ranges, not single codes."
    ]
    assert client.post(url, {**form_data, "first": "2", "last": "2"}).status_code == 302  # joins two of them
    assert len(deliveries.delivered(batch_with_many_deliveries)) == deliveries.MAX_RANGES - 1
    assert deliver(batch_with_many_deliveries, 9000, 9100) == 101
    with pytest.raises(BatchRejected, match="Undo whole deliveries"):
        undo(batch_with_many_deliveries, 9050, 9050)
    assert undo(batch_with_many_deliveries, 9000, 9100) == 101
