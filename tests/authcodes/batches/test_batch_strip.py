"""The strip of a batch's page: the codes it samples, the boxes it draws, and the part that the URL selects."""

import pytest
from django.utils import timezone, translation

from authcodes.admin.batches.strip import percent_text, span_boxes
from authcodes.codes import samples, spans
from authcodes.codes.spans import Span
from authcodes.models.codes import AuthCode
from authcodes.recalls import recalls, scopes
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from tests.authcodes.batches.batch_pages import deliver, page, range_of
from tests.support import factories
from tests.support.portal import address, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False, range_name="Spring", starting_number=101)


def test_strip_of_a_small_batch_shows_every_code(client, batch):
    codes = list(batch.codes.order_by("code"))
    AuthCode.objects.filter(pk__in=[code.pk for code in codes[:5]]).update(product=factories.product(batch.brand))
    scanning.scan(scanned=codes[1].code, context=ScanContext(at=timezone.now()))
    factories.deactivate(codes=codes[9:], at=timezone.now())
    deliver(batch, 101, 102)

    strip = page(client, batch).context["batch_figures"]["strip"]

    assert (strip.first, strip.last, strip.read, strip.is_part) == ("AB-0101", "AB-0110", 10, False)
    boxes = {lane.name: [(box.x, box.width) for box in lane.boxes] for lane in strip.lanes}
    assert boxes == {
        "assigned": [("0.0", "600.0")],
        "printed": [],
        "delivered": [("0.0", "240.0")],
        "scanned": [("120.0", "120.0")],
        "deactivated": [("1080.0", "120.0")],
    }
    assert [row.cells for row in strip.rows[:2]] == [
        ("100 %", "0 %", "100 %", "0 %", "0 %"),
        ("100 %", "0 %", "100 %", "100 %", "0 %"),
    ]


@pytest.mark.parametrize(("quantity", "max_read"), [(1, 6000), (7, 3), (11, 4), (250, 120), (250, 7)])
def test_sample_has_codes_of_every_part_up_to_the_maximum(brand, monkeypatch, quantity, max_read):
    monkeypatch.setattr(samples, "MAX_READ", max_read)
    monkeypatch.setattr(samples, "PARTS", 3)
    batch = factories.batch(brand, quantity=quantity, starting_number=5)

    sampled = samples.sample(batch, spans.full_span(batch))

    assert sum(part.codes for part in sampled.parts) == min(quantity, max_read)
    assert len(sampled.parts) == sampled.part_count == min(quantity, 3)
    assert all(part.assigned == part.codes and not part.scanned for part in sampled.parts)
    begins = [sampled.begin_of(part) for part in range(sampled.part_count + 1)]
    assert (begins[0], begins[-1]) == (5, 5 + quantity)


@pytest.mark.parametrize("max_read", [4, 11, 6000])
def test_each_code_is_sampled_at_most_once(brand, monkeypatch, max_read):
    monkeypatch.setattr(samples, "MAX_READ", max_read)
    batch = factories.batch(brand, quantity=11)
    times_read = []
    for code in batch.codes.order_by("code"):
        AuthCode.objects.filter(pk=code.pk).update(deactivated_at=timezone.now())
        times_read.append(sum(part.deactivated for part in samples.sample(batch, spans.full_span(batch)).parts))
        AuthCode.objects.filter(pk=code.pk).update(deactivated_at=None)

    assert sorted(times_read) == [0] * (11 - min(max_read, 11)) + [1] * min(max_read, 11)


def test_page_says_how_many_codes_were_read(client, brand, monkeypatch):
    monkeypatch.setattr(samples, "MAX_READ", 1000)
    batch = factories.batch(brand, quantity=1500)

    assert "Sampled: 1,000 of 1,500 codes." in text(page(client, batch))


def test_range_as_long_as_the_distance_between_samples_is_never_missed(brand, monkeypatch):
    monkeypatch.setattr(samples, "MAX_READ", 30)
    batch = factories.batch(brand, quantity=300)
    span = spans.full_span(batch)
    every = 10
    for begin in (1, 96, 300 - every + 1):
        codes = range_of(batch, begin, begin + every - 1).codes
        codes.update(deactivated_at=timezone.now())
        assert sum(part.deactivated for part in samples.sample(batch, span).parts) >= 1
        codes.update(deactivated_at=None)


def test_sample_has_no_codes_of_another_batch(brand):
    batch = factories.batch(brand, prefix="A-", number_width=4, quantity=5)
    factories.batch(brand, prefix="A-", number_width=4, quantity=5, starting_number=6)

    parts = samples.sample(batch, Span(1, 10)).parts

    assert sum(part.codes for part in parts) == 5


def test_strip_shows_only_the_code_range_in_the_url(client, batch):
    figures = page(client, batch, first="103", last="AB-0104").context["batch_figures"]

    assert (figures["strip"].first, figures["strip"].last, figures["strip"].is_part) == ("AB-0103", "AB-0104", True)
    assert (figures["chosen"].first, figures["chosen"].last) == ("AB-0103", "AB-0104")


@pytest.mark.parametrize(("last", "drawn"), [("106", True), ("110", False)])
def test_partial_recall_has_a_lane(client, batch, last, drawn):
    recall_fields = {"recall_id": "R-1", "contact": "c", "message": "m", "reason": "r"}
    first = "105" if drawn else "101"
    recalls.recall(scope=scopes.of_range(batch=batch, first=first, last=last), at=timezone.now(), **recall_fields)

    strip = page(client, batch).context["batch_figures"]["strip"]

    lanes = {lane.name: lane.boxes for lane in strip.lanes}
    assert ("recalled" in lanes) == bool(drawn)  # a recall of the whole batch is shown by the batch's badge
    if drawn:
        assert [(box.x, box.width) for box in lanes["recalled"]] == [("480.0", "240.0")]
        assert [row.cells[-1] for row in strip.rows] == [f"{100 if number in {4, 5} else 0} %" for number in range(10)]


@pytest.mark.parametrize("first", ["99", "x", "AB-0999", "9" * 80, "<b>"])
def test_code_outside_the_batch_is_reported_and_stays_in_the_form(client, batch, first):
    answer = page(client, batch, first=first)

    figures = answer.context["batch_figures"]
    assert answer.status_code == 200
    assert "This code is not in the batch" in text(answer)
    assert (figures["strip"].first, figures["chosen"].first) == ("AB-0101", first[:64])
    assert "<b>" not in text(answer)


def test_forms_of_actions_start_with_the_chosen_code_range(client, batch):
    chosen = {"first": "AB-0103", "last": "AB-0104"}
    for name in ("assign", "deactivate", "reactivate", "unassign", "deliver", "undeliver"):
        form = client.get(address("authcodes.batchrange", name, batch.pk), chosen).context["form"]
        assert [form[field].value() for field in ("first", "last")] == ["AB-0103", "AB-0104"], name
    form = client.get(address("authcodes.printrun", "batch", batch.pk), chosen).context["form"]
    assert [form[field].value() for field in ("first", "last")] == ["AB-0103", "AB-0104"]


@pytest.mark.parametrize(
    ("ratio", "expected_text"), [(0.0, "0 %"), (0.001, "< 1 %"), (0.5, "50 %"), (0.999, "> 99 %"), (1.0, "100 %")]
)
def test_percentages_close_to_0_and_100_are_not_rounded_to_them(ratio, expected_text):
    assert percent_text(ratio) == expected_text


@pytest.mark.parametrize(
    ("spans", "drawn"),
    [
        ([], []),
        (
            [(1, 100), (201, 300)],
            [("0.0", "100.0", "1.00", "Printed: 100"), ("200.0", "100.0", "1.00", "Printed: 100")],
        ),
        ([(1, 100), (101, 200)], [("0.0", "200.0", "1.00", "Printed: 200")]),
        ([(1, 1), (4, 4)], [("0.0", "4.0", "0.62", "Printed: 2")]),
        ([(1, 1), (5, 5)], [("0.0", "3.0", "1.00", "Printed: 1"), ("4.0", "3.0", "1.00", "Printed: 1")]),
        ([(1, 1), (1200, 1200)], [("0.0", "3.0", "1.00", "Printed: 1"), ("1197.0", "3.0", "1.00", "Printed: 1")]),
    ],
)
def test_boxes_closer_than_the_minimum_gap_are_merged(spans, drawn):
    boxes = span_boxes([Span(*each) for each in spans], Span(1, 1200), "Printed")

    assert [(box.x, box.width, box.opacity, box.title) for box in boxes] == drawn


def test_numbers_in_the_strip_are_localised():
    with translation.override("de"):
        [box] = span_boxes([Span(1, 1200)], Span(1, 1200), "Gedruckt")

    assert box.title == "Gedruckt: 1.200"
