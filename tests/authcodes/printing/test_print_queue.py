"""The print queue: orders with their users and due dates, late prints, and prints marked as done."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.admin.printing.forms import PrintForm
from authcodes.models.prints import PrintRun
from authcodes.printing import runs
from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand
from core.errors import Invalid
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, errors, in_days, links, print_run_of, staff, text
from tests.support.print_jobs import finished, start

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
LIST, CHOOSE = address("authcodes.printrun"), address("authcodes.printrun", "choose")


@pytest.fixture
def printer(brand):
    return staff(brand, role="printer", email="pia@example.com")


@pytest.fixture
def client(printer):
    return browser(printer)


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=3, range_name="Spring")


def order_print(client, batch, **fields):
    defaults = {"output": "labels", "payload": "address", "level": "M", "sheet": "letter-30", "start": "1"}
    codes = {"first": batch.first_code, "last": batch.last_code}
    return client.post(
        address("authcodes.printrun", "batch", batch.pk), {**defaults, **codes, **fields, "confirm": "1"}
    )


def test_day_is_past_or_not_where_the_chosen_brand_is():
    """The two brands' days differ at any moment."""
    ahead, behind = (factories.brand(time_zone=zone) for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"))
    for brand in (ahead, behind):
        factories.batch(brand, quantity=3)
    client, codes = browser(staff(ahead, behind)), address("authcodes.printrun", "codes")
    day = timezone.now().astimezone(behind.zone).date().isoformat()
    sent = {"output": "labels", "payload": "address", "sheet": "letter-30", "due_on": day, "confirm": "1"}

    past = client.post(codes, {**sent, "brand": ahead.pk})
    started = client.post(codes, {**sent, "brand": behind.pk})

    assert "due_on" in errors(past)
    assert started.status_code == 302
    assert PrintRun.objects.get().brand == behind


def test_day_without_any_brand_is_no_error():
    form = PrintForm({"due_on": "2020-01-01"})
    form.limit_to_brands(Brand.objects.none())

    assert "due_on" not in form.errors


def queue_page(client, query=""):
    return text(client.get(LIST + query))


def test_order_shows_its_due_date_and_note_to_the_print_shop(brand, client, batch):
    owner_browser = browser(staff(brand, email="ann@example.com"))

    order_print(owner_browser, batch, due_on=in_days(3), order_note="Matt paper <b>")

    run = PrintRun.objects.get()
    assert (run.due_on.isoformat(), run.order_note) == (in_days(3), "Matt paper <b>")
    page = queue_page(client)
    assert "Matt paper &lt;b&gt;" in page
    assert "ann@example.com" in page
    assert "Late" not in page
    finished(run)
    choose_page = text(client.get(CHOOSE))
    assert "Matt paper" in choose_page
    assert {address("jobs.job", "download", run.job_id), address("authcodes.printrun", "change", run.pk)} <= links(
        choose_page
    )


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"due_on": "2020-01-01"}, "due_on"),
        ({"due_on": "31/12/2030"}, "due_on"),
        ({"due_on": "9999999-01-01"}, "due_on"),
        ({"order_note": "x" * 201}, "order_note"),
    ],
)
def test_invalid_order_is_reported_at_its_field(client, batch, wrong, field):
    answer = order_print(client, batch, **wrong)

    assert list(answer.context["form"].errors) == [field]
    assert not PrintRun.objects.exists()


def test_job_links_to_the_batch_that_it_prints(client, printer, batch):
    run = finished(print_run_of(batch))
    Job.objects.filter(pk=run.job_id).update(created_by=printer, finished_at=timezone.now())

    job_page = client.get(address("jobs.job", "change", run.job_id))
    bell = client.get(address("jobs.job", "bell")).json()["html"]

    assert address("authcodes.batchrange", "change", batch.pk) in links(text(job_page)) & links(bell)
    assert "Batch: <a" in bell


def test_queue_shows_the_state_of_a_run(client, batch):
    run = print_run_of(batch)

    assert "Queued" in queue_page(client)
    finished(run)
    assert "To print" in queue_page(client)
    assert address("authcodes.printrun", "done", run.pk) in queue_page(client)
    client.post(address("authcodes.printrun", "done", run.pk))
    assert "Printed" in queue_page(client)
    assert address("authcodes.printrun", "done", run.pk) not in queue_page(client)


def test_overdue_run_is_late_until_it_is_marked_as_done(client, batch):
    run = finished(print_run_of(batch))
    PrintRun.objects.filter(pk=run.pk).update(due_on=timezone.now().date() - timedelta(days=2))

    assert "Late" in queue_page(client)
    client.post(address("authcodes.printrun", "done", run.pk))
    assert "Late" not in queue_page(client)


def test_marking_as_done_is_recorded_once_and_can_be_undone(client, printer, batch):
    run = finished(print_run_of(batch))
    done, undone = (address("authcodes.printrun", action, run.pk) for action in ("done", "open"))

    for _press in range(2):
        assert client.post(done, headers={"Referer": "http://testserver" + LIST + "?state=todo"})["Location"] == (
            LIST + "?state=todo"
        )
    run.refresh_from_db()
    assert run.done_by == printer
    page = text(client.get(address("authcodes.printrun", "change", run.pk)))
    assert undone in page
    assert client.post(undone)["Location"] == address("authcodes.printrun", "change", run.pk)
    run.refresh_from_db()
    assert (run.done_at, run.done_by) == (None, None)
    actions = AuditLogEntry.objects.filter(kind="authcodes.printrun").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["Marked as done", "Marked as not done"]


@pytest.mark.parametrize("referer", ["https://evil.example/admin/authcodes/printrun/?x=1", "/admin/", "http://[", ""])
def test_marking_as_done_does_not_redirect_to_foreign_referers(client, batch, referer):
    run = finished(print_run_of(batch))

    answer = client.post(address("authcodes.printrun", "done", run.pk), headers={"Referer": referer})

    assert answer["Location"] == address("authcodes.printrun", "change", run.pk)


def test_get_request_does_not_mark_a_run_as_done(client, batch):
    run = finished(print_run_of(batch))

    client.get(address("authcodes.printrun", "done", run.pk))

    run.refresh_from_db()
    assert run.done_at is None


def test_run_without_a_file_cannot_be_marked_as_done(client, printer, batch):
    run = print_run_of(batch)

    answer = client.post(address("authcodes.printrun", "done", run.pk), follow=True)

    assert "not finished" in text(answer)
    with pytest.raises(Invalid):
        runs.mark_done(run=run, by=printer, at=timezone.now())
    run.refresh_from_db()
    assert run.done_at is None


def test_queue_is_filtered_by_state(client, batch):
    todo, done, waiting = finished(print_run_of(batch)), finished(start(batch)), print_run_of(batch)
    client.post(address("authcodes.printrun", "done", done.pk))
    failed = print_run_of(batch)
    failed.job.status = "failed"
    failed.job.save()

    def run_ids(state):
        return [each.pk for each in client.get(LIST, {"state": state}).context["cl"].result_list]

    assert (run_ids("todo"), run_ids("done"), run_ids("making")) == ([todo.pk], [done.pk], [waiting.pk])
    assert run_ids("failed") == [failed.pk]
    assert client.get(LIST, {"state": "nonsense"})["Location"].endswith("?e=1")


def test_prints_are_sorted_by_due_date_with_undated_ones_last(client, batch):
    runs_to_print = [finished(start(batch)) for _ in range(3)]
    for run, days in zip(runs_to_print, (None, 9, 2), strict=True):
        PrintRun.objects.filter(pk=run.pk).update(due_on=in_days(days) if days else None)

    lines = client.get(CHOOSE).context["prints"]

    assert [line["run"].pk for line in lines] == [runs_to_print[2].pk, runs_to_print[1].pk, runs_to_print[0].pk]


def test_queue_has_only_runs_of_the_brand(client):
    other_run = finished(print_run_of(factories.batch(factories.brand(), prefix="ZZ-", quantity=1)))

    assert client.get(CHOOSE).context["prints"] == []
    for action in ("done", "open"):
        assert client.post(address("authcodes.printrun", action, other_run.pk)).status_code == 404


def test_support_staff_cannot_mark_runs_as_done(brand, batch):
    run = finished(print_run_of(batch))

    assert browser(staff(brand, role="support")).post(address("authcodes.printrun", "done", run.pk)).status_code == 404


def test_note_without_a_due_date_is_not_shown_as_one(client, batch):
    run = finished(print_run_of(batch))
    PrintRun.objects.filter(pk=run.pk).update(order_note="Matt paper")

    assert "Needed by" not in text(client.get(CHOOSE))
    PrintRun.objects.filter(pk=run.pk).update(due_on=in_days(3))
    assert "Needed by" in text(client.get(CHOOSE))
