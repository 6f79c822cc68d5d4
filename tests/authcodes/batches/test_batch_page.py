"""The page of a batch: its stages, the tabs and figures that a role may see, and jobs that are running."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.admin.batches.batches import BatchAdmin
from authcodes.codes import batches
from authcodes.codes.spans import Span
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.printing.runs import printed_spans
from authcodes.recalls import recalls
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext, ScanLocation
from jobs.models import Job
from tests.authcodes.batches.batch_pages import page, stage
from tests.support import factories
from tests.support.portal import address, browser, form_of, links, staff, text
from tests.support.portal import print_run_of as print_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False, range_name="Spring", starting_number=101)


# --- Printed


def test_codes_in_several_finished_print_files_count_once(client, batch):
    for first, last in ((101, 104), (103, 106), (109, 110)):
        run = print_run(batch)
        run.first_code, run.last_code = f"AB-0{first}", f"AB-0{last}"
        run.save()
        Job.objects.filter(pk=run.job_id).update(status="failed" if last == 110 else "done")

    assert printed_spans(batch) == [Span(101, 106)]
    assert stage(page(client, batch), "printed").number == 6


# --- Tabs, and jobs that are running


@pytest.mark.parametrize(
    ("role", "tabs"),
    [
        ("owner", ["codes", "prints", "scans", "history", "settings"]),
        ("printer", ["codes", "prints", "history", "settings"]),
        ("support", ["codes", "scans", "history", "settings"]),
    ],
)
def test_role_sees_only_the_tabs_whose_content_it_may_view(brand, batch, role, tabs):
    client = browser(staff(brand, role=role))
    tabs_of_page = [tab.address for tab in page(client, batch).context["batch_tabs"]]

    assert tabs_of_page == [f"?tab={name}" for name in tabs]
    for name in ("codes", "prints", "scans", "history", "settings", "nothing"):
        assert page(client, batch, tab=name).context["batch_tab"] == (name if name in tabs else "codes")


def test_codes_of_a_batch_are_paged(client, brand):
    batch = factories.batch(brand, prefix="P-", quantity=60)
    listed, query = [], {"tab": "codes"}
    for _ in range(3):
        codes = page(client, batch, **query).context["batch_codes"]
        listed += [line["code"].code for line in codes["lines"]]
        query = dict(each.split("=") for each in codes["more"].strip("?").split("&")) if codes["more"] else {}

    assert listed == [f"P-{number:04}" for number in range(1, 61)]
    assert query == {}
    assert page(client, batch, tab="codes", after="x").status_code == 200


def test_running_print_files_refresh_and_finished_ones_can_be_downloaded(client, batch):
    run = print_run(batch)
    html = text(page(client, batch, tab="prints"))
    assert f'data-live-row="{run.pk}" data-live-column="state"' in html

    later = timezone.now() + timedelta(days=1)
    Job.objects.filter(pk=run.job_id).update(status="done", result="x.pdf", result_name="x.pdf", expires_at=later)
    query = {"id": run.pk, "column": ["state", "file"]}
    columns = client.get(address("authcodes.printrun", "live"), query).json()["rows"][0]["columns"]

    assert "data-live-row" not in columns["state"] + columns["file"]
    assert address("jobs.job", "download", run.job_id) in columns["file"]
    assert address("jobs.job", "download", run.job_id) in links(text(page(client, batch, tab="prints")))


def test_scans_tab_counts_and_maps_only_scans_of_the_batch(client, brand, batch):
    other = factories.batch(brand, quantity=2)
    AuthCode.objects.filter(batch=batch).update(product=factories.product(brand))
    berlin, hamburg = ScanLocation(city="Berlin", region="State of Berlin"), ScanLocation(city="Hamburg")
    for code, place in ((batch.first_code, berlin), (batch.last_code, berlin), (other.first_code, hamburg)):
        scanning.scan(scanned=code, context=ScanContext(at=timezone.now(), place=place))

    answer = page(client, batch, tab="scans")

    scans = answer.context["batch_scans"]
    assert scans["total"] == "2"
    assert scans["charted"].rows[0].cells == ("2", "0", "0")
    assert [(circle.title, circle.link) for circle in scans["map"].circles] == [
        ("Berlin: 2", scans["map"].rows[0].link)
    ]
    assert [(row.name, row.scans) for row in scans["map"].rows] == [("Berlin", 2)]
    assert len(client.get(scans["map"].rows[0].link).context["cl"].result_list) == 2
    assert "Hamburg" not in text(answer)


def test_batch_whose_job_ends_while_its_page_is_built_is_ready(client, brand, monkeypatch):
    batch = factories.batch(brand, quantity=4)
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=1)
    batch.refresh_from_db()
    batches.start_generation(batch=batch, by=None)
    generation_in = BatchAdmin.generation_in

    def end_job_first(self, row):
        Job.objects.update(status="done")
        BatchRange.objects.filter(pk=row.pk).update(generated_count=4)
        return generation_in(self, row)

    monkeypatch.setattr(BatchAdmin, "generation_in", end_job_first)
    html = text(client.get(address("authcodes.batchrange", "change", batch.pk)))

    assert "Ready" in html
    assert "data-job=" not in html


def test_page_of_a_batch_follows_its_job_until_the_codes_are_generated(client, brand):
    batch = factories.batch(brand, quantity=4)
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=1)
    job = Job.objects.create(
        brand=brand, kind="generate", title="x", parameters={"batch_id": batch.pk}, status="running", total=4, done=1
    )
    html_during_job = text(page(client, batch))
    assert f'data-job="{job.pk}"' in html_during_job

    Job.objects.filter(pk=job.pk).update(status="done")
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=4)
    html_after_job = text(page(client, batch))

    assert ("data-job" in html_after_job, "formaction" in html_after_job) == (False, True)


def test_batch_without_codes_has_no_strip_and_no_actions(client, brand):
    batch = factories.batch(brand, quantity=4)
    AuthCode.objects.all().delete()
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=0)

    answer = page(client, batch)

    assert (answer.context["batch_figures"]["strip"], "formaction" in text(answer)) == (None, False)
    assert "Codes appear here once they are generated." in text(answer)


def test_saved_settings_lead_back_to_the_batch_and_errors_stay_on_their_tab(client, batch):
    url = address("authcodes.batchrange", "change", batch.pk)
    settings = page(client, batch, tab="settings")
    assert 'id="batchrange_form"' in text(settings)
    assert 'id="batchrange_form"' not in text(page(client, batch))

    response_with_error = client.post(url, {"range_name": ""})
    saved = client.post(url, {"range_name": "Renamed", "error_correction": "M", "scan_limit": 1})

    assert response_with_error.context["batch_tab"] == "settings"
    assert re.search(r'id="batchrange_form"', text(response_with_error))
    assert saved["Location"] == url


@pytest.mark.parametrize(("role", "sees"), [("owner", True), ("manager", True), ("printer", True), ("support", False)])
def test_only_roles_that_see_print_files_see_what_is_printed(brand, batch, role, sees):
    Job.objects.filter(pk=print_run(batch).job_id).update(status="done")

    answer = page(browser(staff(brand, role=role)), batch)

    figures = answer.context["batch_figures"]
    names = [each.name for each in figures["stages"]]
    assert names == ["generated", "assigned", *(["printed"] if sees else []), "delivered", "scanned"]
    lanes = [each.name for each in figures["strip"].lanes]
    assert lanes == [*names[1:], "deactivated"]
    assert all(len(row.cells) == len(lanes) for row in figures["strip"].rows)
    assert ("Printed" in text(answer)) == sees


@pytest.mark.parametrize(
    ("missing", "expected_text"),
    [(1, "1 code has not been generated."), (1500, "1,500 codes have not been generated.")],
)
def test_missing_codes_are_counted(client, brand, missing, expected_text):
    batch = factories.batch(brand, quantity=4)
    BatchRange.objects.filter(pk=batch.pk).update(quantity=4 + missing)

    assert expected_text in text(page(client, batch))


# --- Settings, and the state in the list


def test_cost_of_a_batch_with_0_points_is_that_of_levels_and_not_of_its_product(client, brand):
    product = factories.product(brand, redeem_point_value=10)
    batch = factories.batch(brand, product=product, quantity=25, scan_limit=2)
    url = address("authcodes.batchrange", "change", batch.pk)

    response = client.post(url, {**form_of(client.get(url)), "points_per_scan": 0})

    assert "These 25 codes then earn the points of each member&#x27;s level, up to 50 times in total." in text(response)


def test_state_filter_lists_each_batch_by_its_badge(client, brand):
    long_ago = timezone.now() - timedelta(days=30)
    batches_by_badge = {
        "Ready": factories.batch(brand),
        "Stopped: 0 %": factories.batch(brand),
        "Expired": factories.batch(brand, expiration_date=brand.day_at(long_ago), at=long_ago),
        "Recalled": factories.batch(brand),
        "Undone": factories.batch(brand),
    }
    BatchRange.objects.filter(pk=batches_by_badge["Stopped: 0 %"].pk).update(generated_count=0)
    BatchRange.objects.filter(pk=batches_by_badge["Undone"].pk).update(
        generated_count=0, quantity=0, printed_elsewhere=True
    )
    texts = dict.fromkeys(("recall_id", "contact", "message", "reason"), "x")
    recalls.recall_batch(batch=batches_by_badge["Recalled"], at=timezone.now(), **texts)
    badges = dict(zip(("ready", "unfinished", "expired", "recalled", "undone"), batches_by_badge, strict=True))

    for state, badge in badges.items():
        answer = client.get(address("authcodes.batchrange"), {"state": state})
        assert list(answer.context["cl"].result_list) == [batches_by_badge[badge]], state
        assert badge in text(answer)
