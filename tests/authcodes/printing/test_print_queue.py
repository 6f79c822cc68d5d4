"""The print queue: who asked for what until when, what is late, and what is on paper."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.models.prints import PrintRun
from authcodes.printing import runs
from brands.models.audit import AuditLogEntry
from core.errors import Invalid
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, in_days, links, printed, staff, text
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


def ordered(client, batch, **fields):
    usual = {"output": "labels", "payload": "address", "level": "M", "sheet": "letter-30", "start": "1"}
    codes = {"first": batch.first_code, "last": batch.last_code}
    return client.post(address("authcodes.printrun", "batch", batch.pk), {**usual, **codes, **fields, "confirm": "1"})


def row(client, query=""):
    return text(client.get(LIST + query))


def test_order_says_until_when_and_what_the_print_shop_should_know(brand, client, batch):
    owner = browser(staff(brand, email="ann@example.com"))

    ordered(owner, batch, due_on=in_days(3), order_note="Matt paper <b>")

    run = PrintRun.objects.get()
    assert (run.due_on.isoformat(), run.order_note) == (in_days(3), "Matt paper <b>")
    listed = row(client)
    assert "Matt paper &lt;b&gt;" in listed
    assert "ann@example.com" in listed
    assert "Late" not in listed
    finished(run)
    choose = text(client.get(CHOOSE))
    assert "Matt paper" in choose
    assert {address("jobs.job", "download", run.job_id), address("authcodes.printrun", "change", run.pk)} <= links(
        choose
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
def test_order_that_cannot_be_is_told_at_its_field(client, batch, wrong, field):
    answer = ordered(client, batch, **wrong)

    assert list(answer.context["form"].errors) == [field]
    assert not PrintRun.objects.exists()


def test_job_leads_to_the_batch_that_it_prints(client, printer, batch):
    run = finished(printed(batch))
    Job.objects.filter(pk=run.job_id).update(created_by=printer, finished_at=timezone.now())

    job_page = client.get(address("jobs.job", "change", run.job_id))
    bell = client.get(address("jobs.job", "bell")).json()["html"]

    assert address("authcodes.batchrange", "change", batch.pk) in links(text(job_page)) & links(bell)
    assert "Batch: <a" in bell


def test_states_of_the_queue(client, batch):
    run = printed(batch)

    assert "Queued" in row(client)
    finished(run)
    assert "To print" in row(client)
    assert address("authcodes.printrun", "done", run.pk) in row(client)
    client.post(address("authcodes.printrun", "done", run.pk))
    assert "Printed" in row(client)
    assert address("authcodes.printrun", "done", run.pk) not in row(client)


def test_late_is_what_should_be_on_paper_and_is_not(client, batch):
    run = finished(printed(batch))
    PrintRun.objects.filter(pk=run.pk).update(due_on=timezone.now().date() - timedelta(days=2))

    assert "Late" in row(client)
    client.post(address("authcodes.printrun", "done", run.pk))
    assert "Late" not in row(client)


def test_marking_as_done_is_noted_once_and_can_be_taken_back(client, printer, batch):
    run = finished(printed(batch))
    done, undone = (address("authcodes.printrun", what, run.pk) for what in ("done", "open"))

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
    acts = AuditLogEntry.objects.filter(kind="authcodes.printrun").order_by("id").values_list("action", flat=True)
    assert list(acts) == ["Marked as done", "Marked as not done"]


@pytest.mark.parametrize("referer", ["https://evil.example/admin/authcodes/printrun/?x=1", "/admin/", "http://[", ""])
def test_marking_leads_nowhere_else(client, batch, referer):
    run = finished(printed(batch))

    answer = client.post(address("authcodes.printrun", "done", run.pk), headers={"Referer": referer})

    assert answer["Location"] == address("authcodes.printrun", "change", run.pk)


def test_address_alone_marks_nothing(client, batch):
    run = finished(printed(batch))

    client.get(address("authcodes.printrun", "done", run.pk))

    run.refresh_from_db()
    assert run.done_at is None


def test_what_has_no_file_cannot_be_on_paper(client, printer, batch):
    run = printed(batch)

    answer = client.post(address("authcodes.printrun", "done", run.pk), follow=True)

    assert "not finished" in text(answer)
    with pytest.raises(Invalid):
        runs.mark_done(run=run, by=printer, at=timezone.now())
    run.refresh_from_db()
    assert run.done_at is None


def test_queue_is_filtered_by_state(client, batch):
    todo, done, waiting = finished(printed(batch)), finished(start(batch)), printed(batch)
    client.post(address("authcodes.printrun", "done", done.pk))
    failed = printed(batch)
    failed.job.status = "failed"
    failed.job.save()

    def listed(state):
        return [each.pk for each in client.get(LIST, {"state": state}).context["cl"].result_list]

    assert (listed("todo"), listed("done"), listed("making")) == ([todo.pk], [done.pk], [waiting.pk])
    assert listed("failed") == [failed.pk]
    assert client.get(LIST, {"state": "nonsense"})["Location"].endswith("?e=1")


def test_most_urgent_print_comes_first_and_those_without_a_day_last(client, batch):
    found = [finished(start(batch)) for _ in range(3)]
    for run, days in zip(found, (None, 9, 2), strict=True):
        PrintRun.objects.filter(pk=run.pk).update(due_on=in_days(days) if days else None)

    lines = client.get(CHOOSE).context["prints"]

    assert [line["run"].pk for line in lines] == [found[2].pk, found[1].pk, found[0].pk]


def test_queue_shows_the_brands_own_alone(client):
    foreign = finished(printed(factories.batch(factories.brand(), prefix="ZZ-", quantity=1)))

    assert client.get(CHOOSE).context["prints"] == []
    for what in ("done", "open"):
        assert client.post(address("authcodes.printrun", what, foreign.pk)).status_code == 404


def test_support_marks_nothing(brand, batch):
    run = finished(printed(batch))

    assert browser(staff(brand, role="support")).post(address("authcodes.printrun", "done", run.pk)).status_code == 404
