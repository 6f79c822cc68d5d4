"""The page of a batch: its stages, the strip, deliveries to shops, and who may see which tab."""

import re
from datetime import timedelta

import pytest
from django.test.utils import override_settings
from django.utils import timezone

from authcodes.admin.batches.strip import percent_text
from authcodes.codes import bulk_changes, deliveries, samples, spans
from authcodes.codes.ranges import full_range, resolve_range
from authcodes.codes.spans import Span, inside, joined, size_of, without
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.printing.printed import printed
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.models.audit import AuditLogEntry
from jobs.models import Job
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, links, staff, text
from tests.support.portal import printed as print_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(brand):
    return staff(brand)


@pytest.fixture
def client(owner):
    return browser(owner)


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False, range_name="Spring", starting_number=101)


def page(client, batch, **query):
    return client.get(address("authcodes.batchrange", "change", batch.pk), query)


def range_of(batch, first, last):
    return resolve_range(batch=batch, first=str(first), last=str(last))


def deliver(batch, first, last):
    at = timezone.now()
    return deliveries.deliver(codes=range_of(batch, first, last), day=at.date(), place="Berlin", by=None, at=at)


def undo(batch, first, last):
    return deliveries.undo_delivery(codes=range_of(batch, first, last), reason="Back", by=None, at=timezone.now())


def stage(response, name):
    return next(each for each in response.context["batch_facts"]["stages"] if each.name == name)


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


@pytest.mark.parametrize("taken", [(0, 0), (1, 10), (4, 5), (1, 2), (9, 12)])
def test_what_is_left_without_a_span_and_what_lies_inside(taken):
    rest = without([Span(1, 5), Span(8, 10)], Span(*taken))
    inner = inside([Span(1, 5), Span(8, 10)], Span(*taken))

    numbers = {1, 2, 3, 4, 5, 8, 9, 10}
    cut = set(range(taken[0], taken[1] + 1))
    assert {number for each in rest for number in range(each.first, each.last + 1)} == numbers - cut
    assert {number for each in inner for number in range(each.first, each.last + 1)} == numbers & cut


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
    assert (note.codes, note.detail, note.changed_by) == (4, "Delivered on 31 Jan 2026\nBerlin Mitte", owner)
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


# --- Printed


def test_codes_of_finished_print_files_count_once(client, batch):
    for first, last in ((101, 104), (103, 106), (109, 110)):
        run = print_run(batch)
        run.first_code, run.last_code = f"AB-0{first}", f"AB-0{last}"
        run.save()
        Job.objects.filter(pk=run.job_id).update(status="failed" if last == 110 else "done")

    assert printed(batch) == [Span(101, 106)]
    assert stage(page(client, batch), "printed").number == 6


# --- The strip


def test_a_small_batch_is_read_code_by_code(client, batch):
    codes = list(batch.codes.order_by("code"))
    AuthCode.objects.filter(pk__in=[code.pk for code in codes[:5]]).update(product=factories.product(batch.brand))
    scanning.scan(scanned=codes[1].code, about=ScanContext(at=timezone.now()))
    bulk_changes.deactivate(codes=codes[9:], at=timezone.now())
    deliver(batch, 101, 102)

    strip = page(client, batch).context["batch_facts"]["strip"]

    assert (strip.first, strip.last, strip.every, strip.is_part) == ("AB-0101", "AB-0110", 1, False)
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


@pytest.mark.parametrize(("quantity", "most"), [(1, 6000), (7, 3), (11, 4), (250, 120), (250, 7)])
def test_each_part_is_read_as_often_as_there_are_codes_to_read(brand, monkeypatch, quantity, most):
    monkeypatch.setattr(samples, "MAX_READ", most)
    monkeypatch.setattr(samples, "PARTS", 3)
    batch = factories.batch(brand, quantity=quantity, starting_number=5)

    sampled = samples.sample(batch, spans.full_span(batch))

    assert sum(part.codes for part in sampled.parts) == min(quantity, most)
    assert len(sampled.parts) == sampled.number == min(quantity, 3)
    assert all(part.assigned == part.codes and not part.scanned for part in sampled.parts)
    begins = [sampled.begin_of(part) for part in range(sampled.number + 1)]
    assert (begins[0], begins[-1]) == (5, 5 + quantity)


def test_a_stretch_as_long_as_the_distance_of_the_codes_that_are_read_is_never_missed(brand, monkeypatch):
    monkeypatch.setattr(samples, "MAX_READ", 30)
    batch = factories.batch(brand, quantity=300)
    span = spans.full_span(batch)
    every = samples.sample(batch, span).every
    for begin in (1, 96, 300 - every + 1):
        codes = range_of(batch, begin, begin + every - 1).codes
        codes.update(deactivated_at=timezone.now())
        assert sum(part.deactivated for part in samples.sample(batch, span).parts) >= 1
        codes.update(deactivated_at=None)


def test_the_strip_reads_no_code_of_another_batch(brand):
    batch = factories.batch(brand, prefix="A-", number_width=4, quantity=5)
    factories.batch(brand, prefix="A-", number_width=4, quantity=5, starting_number=6)

    parts = samples.sample(batch, Span(1, 10)).parts

    assert sum(part.codes for part in parts) == 5


def test_the_page_looks_closer_at_the_codes_that_the_address_names(client, batch):
    shown = page(client, batch, first="103", last="AB-0104").context["batch_facts"]

    assert (shown["strip"].first, shown["strip"].last, shown["strip"].is_part) == ("AB-0103", "AB-0104", True)
    assert (shown["chosen"].first, shown["chosen"].last) == ("AB-0103", "AB-0104")


@pytest.mark.parametrize("first", ["99", "x", "AB-0999", "9" * 80, "<b>"])
def test_codes_that_are_not_of_the_batch_are_said_to_be_wrong_and_kept(client, batch, first):
    answer = page(client, batch, first=first)

    facts = answer.context["batch_facts"]
    assert answer.status_code == 200
    assert "This code is not in the batch" in text(answer)
    assert (facts["strip"].first, facts["chosen"].first) == ("AB-0101", first[:64])
    assert "<b>" not in text(answer)


def test_actions_begin_with_the_codes_that_were_chosen(client, batch):
    chosen = {"first": "AB-0103", "last": "AB-0104"}
    for name in ("assign", "deactivate", "reactivate", "unassign", "deliver", "undeliver"):
        form = client.get(address("authcodes.batchrange", name, batch.pk), chosen).context["form"]
        assert [form[field].value() for field in ("first", "last")] == ["AB-0103", "AB-0104"], name
    form = client.get(address("authcodes.printrun", "batch", batch.pk), chosen).context["form"]
    assert [form[field].value() for field in ("first", "last")] == ["AB-0103", "AB-0104"]


@pytest.mark.parametrize(
    ("part", "words"), [(0.0, "0 %"), (0.001, "< 1 %"), (0.5, "50 %"), (0.999, "> 99 %"), (1.0, "100 %")]
)
def test_almost_none_is_not_none_and_almost_all_is_not_all(part, words):
    assert percent_text(part) == words


# --- Tabs, and work that goes on


@pytest.mark.parametrize(
    ("role", "tabs"),
    [
        ("owner", ["codes", "prints", "scans", "history", "settings"]),
        ("printer", ["codes", "prints", "history", "settings"]),
        ("support", ["codes", "scans", "history", "settings"]),
    ],
)
def test_a_tab_is_there_for_those_who_may_see_what_is_in_it(brand, batch, role, tabs):
    client = browser(staff(brand, role=role))
    offered = [tab.address for tab in page(client, batch).context["batch_tabs"]]

    assert offered == [f"?tab={name}" for name in tabs]
    for name in ("codes", "prints", "scans", "history", "settings", "nothing"):
        assert page(client, batch, tab=name).context["batch_tab"] == (name if name in tabs else "codes")


def test_the_codes_of_a_batch_are_turned_page_by_page(client, brand):
    batch = factories.batch(brand, prefix="P-", quantity=60)
    seen, query = [], {"tab": "codes"}
    for _page in range(3):
        codes = page(client, batch, **query).context["batch_codes"]
        seen += [line["code"].code for line in codes["lines"]]
        query = dict(each.split("=") for each in codes["more"].strip("?").split("&")) if codes["more"] else {}

    assert seen == [f"P-{number:04}" for number in range(1, 61)]
    assert query == {}
    assert page(client, batch, tab="codes", after="x").status_code == 200


def test_print_files_of_the_batch_are_followed_and_offered(client, batch):
    run = print_run(batch)
    shown = text(page(client, batch, tab="prints"))
    assert f'data-live-row="{run.pk}" data-live-column="state"' in shown

    later = timezone.now() + timedelta(days=1)
    Job.objects.filter(pk=run.job_id).update(status="done", result="x.pdf", result_name="x.pdf", expires_at=later)
    query = {"id": run.pk, "column": ["state", "file"]}
    columns = client.get(address("authcodes.printrun", "live"), query).json()["rows"][0]["columns"]

    assert "data-live-row" not in columns["state"] + columns["file"]
    assert address("jobs.job", "download", run.job_id) in columns["file"]
    assert address("jobs.job", "download", run.job_id) in links(text(page(client, batch, tab="prints")))


def test_scans_of_the_batch_are_counted_by_day_and_place(client, brand, batch):
    other = factories.batch(brand, quantity=2)
    AuthCode.objects.filter(batch=batch).update(product=factories.product(brand))
    for code in (batch.first_code, batch.last_code, other.first_code):
        scanning.scan(scanned=code, about=ScanContext(at=timezone.now()))

    scans = page(client, batch, tab="scans").context["batch_scans"]

    assert scans["total"] == "2"
    assert scans["charted"].rows[0].cells == ("2", "0", "0")


def test_a_batch_in_the_making_is_followed_until_it_is_made(client, brand):
    batch = factories.batch(brand, quantity=4)
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=1)
    job = Job.objects.create(
        brand=brand, kind="generate", title="x", parameters={"batch_id": batch.pk}, status="running", total=4, done=1
    )
    making = text(page(client, batch))
    assert f'data-job="{job.pk}"' in making

    Job.objects.filter(pk=job.pk).update(status="done")
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=4)
    made = text(page(client, batch))

    assert ("data-job" in made, "formaction" in made) == (False, True)


def test_a_batch_without_codes_has_no_strip_and_no_actions(client, brand):
    batch = factories.batch(brand, quantity=4)
    AuthCode.objects.all().delete()
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=0)

    answer = page(client, batch)

    assert (answer.context["batch_facts"]["strip"], "formaction" in text(answer)) == (None, False)
    assert "Its codes appear here once they are generated." in text(answer)


def test_saving_the_settings_leads_back_to_the_batch_and_errors_stay_on_their_tab(client, batch):
    its = address("authcodes.batchrange", "change", batch.pk)
    settings = page(client, batch, tab="settings")
    assert 'id="batchrange_form"' in text(settings)
    assert 'id="batchrange_form"' not in text(page(client, batch))

    refused = client.post(its, {"range_name": ""})
    saved = client.post(its, {"range_name": "Renamed", "error_correction": "M", "scan_limit": 1})

    assert refused.context["batch_tab"] == "settings"
    assert re.search(r'id="batchrange_form"', text(refused))
    assert saved["Location"] == its


@override_settings(GENERATION_CHUNK=3)
def test_the_history_knows_a_delivery_of_a_code(client, batch):
    deliver(batch, 103, 104)
    code = AuthCode.objects.get(code="AB-0103")

    assert "Delivered to shops" in text(client.get(address("authcodes.authcode", "change", code.pk)))
    assert CodeChange.objects.filter(kind="delivered").count() == 1
