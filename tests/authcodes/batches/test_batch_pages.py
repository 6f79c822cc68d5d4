"""A batch's pages: its figures, history, missing codes and settings."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import reverse
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.models.codes import AuthCode
from authcodes.recalls import recalls
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands.models.audit import AuditLogEntry
from jobs import runner
from jobs.models import Job
from tests.authcodes.batches.batch_pages import summary
from tests.support import factories
from tests.support.portal import address, browser, form_of, links, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False, range_name="Spring")


def page(client, batch, **query):
    return client.get(address("authcodes.batchrange", "change", batch.pk), query)


def listed(client, url):
    return sorted(row.code for row in client.get(url).context["cl"].result_list)


def test_batch_page_counts_codes_by_stage_and_links_to_them(client, brand, batch):
    codes = list(batch.codes.order_by("code"))
    AuthCode.objects.filter(pk__in=[code.pk for code in codes[:7]]).update(product=factories.product(brand))
    scan.scan(scanned=codes[0].code, context=ScanContext(at=timezone.now()))
    factories.deactivate(codes=codes[8:], at=timezone.now())
    factories.batch(brand, quantity=3)

    figures = page(client, batch).context["batch_figures"]

    stages = figures["stages"]
    assert [(stage.title, stage.number) for stage in stages] == [
        ("Generated", 10),
        ("Assigned", 7),
        ("Printed", 0),
        ("In the shops", 0),
        ("Scanned", 1),
    ]
    names = [code.code for code in codes]
    links = [stages[0].link, stages[1].link, stages[4].link, figures["deactivated_address"]]
    assert [listed(client, link) for link in links] == [names, names[:7], names[:1], names[8:]]
    assert figures["deactivated"] == "2"


def test_pages_of_a_batch_read_codes_only_in_bounded_or_indexed_queries(client, batch):
    recall_url = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    with CaptureQueriesContext(connection) as queries:
        assert page(client, batch).status_code == client.get(recall_url).status_code == 200

    statements = [" ".join(query["sql"].replace('"', "").split()) for query in queries]
    code_statements = [sql for sql in statements if "authcodes_authcode" in sql]
    assert len(code_statements) == 6
    allowed = (
        "WHERE product_id IS NULL AND brand_id = ANY",
        "deactivated_at IS NOT NULL",
        "WHERE a.code =",
        "LIMIT 26",
        "LIMIT 1000",
        "f.step <",  # one step for each product of the batch, up to a limit
    )
    assert [sql for sql in code_statements if not any(fragment in sql for fragment in allowed)] == []


def test_scan_limit_below_the_scan_count_is_rejected_with_the_count(client, brand):
    batch = factories.batch(brand, scan_limit=None, quantity=2)
    for _ in range(3):
        scan.scan(scanned=batch.first_code, context=ScanContext(at=timezone.now()))

    def set_limit(limit):
        url = address("authcodes.batchrange", "change", batch.pk)
        return client.post(url, {**form_of(client.get(url)), "scan_limit": limit, "reason": "Sale"})

    response = set_limit(2)

    assert "already been scanned 3 times" in response.context["adminform"].form.errors["scan_limit"][0]
    assert [set_limit(limit).status_code for limit in (3, "", 7)] == [302, 302, 302]


def test_batch_page_offers_only_actions_that_the_role_may_perform(brand, batch):
    def actions_of(role):
        html = text(page(browser(staff(brand, role=role)), batch))
        base_url = address("authcodes.batchrange", "change", batch.pk).removesuffix("change/")
        buttons = set(re.findall(f'formaction="{base_url}([a-z]+)/"', html))
        return buttons | {
            link.removeprefix(base_url).strip("/") for link in links(html) if link == f"{base_url}recall/"
        }

    actions = {"assign", "unassign", "deactivate", "reactivate", "deliver", "undeliver"}
    assert actions_of("owner") == {*actions, "recall"}
    assert actions_of("printer") == actions
    assert actions_of("support") == set()


def test_batch_page_links_to_exports_of_its_codes_and_scans(client, brand, batch):
    for label, tab in (("authcode", "codes"), ("scan", "scans")):
        html = text(page(client, batch, tab=tab))
        assert f"{address(f'authcodes.{label}', 'export')}?batch__id__exact={batch.pk}" in html
    printer = browser(staff(brand, role="printer"))
    assert address("authcodes.scan", "export") not in text(page(printer, batch, tab="scans"))


def test_batch_without_codes_links_to_its_generation_job(client, brand, owner):
    batch_settings = BatchSettings(range_name="Slow", quantity=10, prefix="SL-", signed=False)
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now(), by=owner)
    job = batches.start_generation(batch=batch, by=owner)

    html = text(page(client, batch))

    assert address("jobs.job", "change", job.pk) in html
    assert address("authcodes.batchrange", "assign", batch.pk) not in html


@pytest.fixture
def stopped_batch(brand):
    """A batch whose job was cancelled after four of its ten codes."""
    batch_settings = BatchSettings(range_name="Slow", quantity=10, prefix="SL-", signed=False, number_width=4)
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())
    job = batches.start_generation(batch=batch, by=None)
    Job.objects.update(cancel_requested=True)
    with override_settings(GENERATION_CHUNK=4):
        runner.run(job.pk)
    return batch


def finish(client, batch):
    return client.post(address("authcodes.batchrange", "finish", batch.pk))


def test_missing_codes_of_a_stopped_batch_can_be_generated_from_its_page(client, owner, stopped_batch):
    html = text(page(client, stopped_batch))
    assert all(
        expected_text in html
        for expected_text in ("Stopped: 40 %", "6 codes have not been generated", "Generate the missing codes")
    )

    answer = finish(client, stopped_batch)

    job = Job.objects.first()
    assert answer.headers["Location"] == address("jobs.job", "change", job.pk)
    assert (job.kind, job.created_by, job.status) == ("generate", owner, "queued")
    assert "Generating: 40 %" in text(client.get(address("authcodes.batchrange")))
    runner.run(job.pk)
    assert (stopped_batch.codes.count(), "Ready" in text(page(client, stopped_batch))) == (10, True)


def test_no_second_generation_is_offered_or_started_for_the_same_codes(client, stopped_batch):
    finish(client, stopped_batch)
    assert "Generate the missing codes" not in text(page(client, stopped_batch))
    finish(client, stopped_batch)
    runner.run(Job.objects.first().pk)
    finish(client, stopped_batch)

    assert "Generate the missing codes" not in text(page(client, stopped_batch))
    assert Job.objects.count() == 2


@pytest.mark.parametrize(("role", "status"), [("printer", 302), ("support", 403)])
def test_generating_missing_codes_needs_the_permission_to_add_batches(brand, stopped_batch, role, status):
    client = browser(staff(brand, role=role))

    assert ("Generate the missing codes" in text(page(client, stopped_batch))) is (status == 302)
    assert client.get(address("authcodes.batchrange", "finish", stopped_batch.pk)).status_code == 405
    assert finish(client, stopped_batch).status_code == status
    assert finish(browser(staff(factories.brand())), stopped_batch).status_code == 404


def test_batch_history_shows_user_local_time_and_reason(client, brand, owner, batch):
    brand.time_zone = "Asia/Kolkata"
    brand.save()
    at = timezone.now().replace(hour=20, minute=0)
    factories.deactivate(codes=list(batch.codes.all()), at=at, reason="a pallet was <stolen>", by=owner)

    html = text(page(client, batch, tab="history"))

    assert "a pallet was &lt;stolen&gt;" in html
    assert owner.email in html
    assert "01:30 IST" in html
    assert address("authcodes.codechange") + f"?batch__id__exact={batch.pk}" in html


def test_history_of_a_batch_has_20_lines_and_a_constant_query_count(client, batch):
    def count_queries():
        with CaptureQueriesContext(connection) as queries:
            page(client, batch, tab="history")
        return len(queries)

    page(client, batch, tab="history")
    first = count_queries()
    for number in range(30):
        switch = factories.reactivate if number % 2 else factories.deactivate
        switch(codes=[batch.codes.first()], at=timezone.now(), reason=str(number))

    assert count_queries() == first
    assert first <= 20
    assert len(page(client, batch, tab="history").context["batch_history"]["lines"]) == 20


def test_changed_settings_are_in_the_history(client, owner, batch):
    url = address("authcodes.batchrange", "change", batch.pk)

    client.post(url, {**form_of(client.get(url)), "points_per_scan": 9, "reason": "Spring"})

    line = batch.changes.get(kind="edited")
    assert (line.detail, line.changed_by) == ("points per scan: empty → 9", owner)
    assert not Job.objects.exists()


def test_code_changes_are_listed_and_filtered(client, batch):
    code = batch.codes.order_by("code").first()
    factories.deactivate(codes=[code], at=timezone.now(), reason="stolen")
    url = address("authcodes.codechange")

    changes = client.get(url, {"kind__exact": "deactivated"}).context["cl"].result_list
    assert [(line.run, line.reason) for line in changes] == [("AB-0001", "stolen")]
    assert "stolen" in text(client.get(address("authcodes.codechange", "change", changes[0].pk)))
    assert len(client.get(url, {"q": "AB-"}).context["cl"].result_list) == 2


def test_batch_page_explains_what_scans_earn_while_the_campaign_is_over(client, brand):
    ended = factories.campaign(brand, is_active=False, campaign_name="Winter")
    without_points, with_points = (
        factories.batch(brand, campaign=ended, after_campaign="nothing"),
        factories.batch(brand, campaign=ended),
    )

    assert "The campaign Winter is not running. Scans earn nothing." in text(page(client, without_points))
    assert "The campaign Winter is not running. Scans earn their usual points." in text(page(client, with_points))


def test_changing_points_of_existing_codes_shows_the_cost_and_needs_a_reason(client, owner, brand):
    batch = factories.batch(brand, quantity=25, scan_limit=2)
    url = address("authcodes.batchrange", "change", batch.pk)
    form_data = {**form_of(client.get(url)), "points_per_scan": 500}

    response = client.post(url, form_data)
    batch.refresh_from_db()
    before = batch.points_per_scan
    client.post(url, {**form_data, "reason": "Autumn promotion"})

    batch.refresh_from_db()
    assert "These 25 codes can then earn up to 25,000 points in total." in text(response)
    assert (before, batch.points_per_scan) == (None, 500)
    assert batch.changes.get(kind="edited").reason == "Autumn promotion"
    assert AuditLogEntry.objects.filter(kind="authcodes.batchrange", reason="Autumn promotion").exists()


def test_cost_of_unlimited_scans_is_shown_as_unlimited(client, batch):
    url = address("authcodes.batchrange", "change", batch.pk)

    response = client.post(url, {**form_of(client.get(url)), "scan_limit": ""})

    assert "the total points have no limit" in text(response)


def test_other_settings_of_a_batch_need_no_reason(client, batch):
    url = address("authcodes.batchrange", "change", batch.pk)

    client.post(url, {**form_of(client.get(url)), "range_name": "Renamed", "after_campaign": "nothing"})

    batch.refresh_from_db()
    assert (batch.range_name, batch.after_campaign) == ("Renamed", "nothing")


@pytest.mark.parametrize("role", ["printer", "support"])
def test_roles_without_permission_for_points_cannot_change_points_or_limits(brand, batch, role):
    client = browser(staff(brand, role=role))
    url = address("authcodes.batchrange", "change", batch.pk)
    form = form_of(client.get(url))

    client.post(url, {**form, "points_per_scan": 500, "scan_limit": 9, "after_campaign": "nothing", "reason": "x"})

    batch.refresh_from_db()
    assert not {"points_per_scan", "scan_limit", "after_campaign", "reason"} & set(form)
    assert (batch.points_per_scan, batch.scan_limit, batch.after_campaign) == (None, 1, "points")


def test_batches_are_filtered_by_state(client, brand):
    factories.expired_code(brand)
    ready = factories.batch(brand)
    recalled = factories.batch(brand)
    recalls.recall_batch(batch=recalled, recall_id="R-1", contact="c", message="m", reason="r", at=timezone.now())

    def listed(**query):
        return set(client.get(address("authcodes.batchrange", "changelist"), query).context["cl"].result_list)

    [expired] = listed(state="expired")
    assert expired.expiration_date
    assert "Expired" in text(page(client, expired))
    assert listed(state="ready") == {ready}
    assert listed(state="recalled") == {recalled}


def test_codes_are_filtered_by_whether_they_have_a_product(client, brand):
    [unassigned], [assigned_code] = (
        factories.batch(brand, assigned=assigned).codes.all() for assigned in (False, True)
    )

    def listed(status):
        return list(
            client.get(address("authcodes.authcode", "changelist"), {"status": status}).context["cl"].result_list
        )

    assert (listed("unassigned"), listed("unscanned")) == ([unassigned], [assigned_code])
    assert "Not assigned" in text(client.get(address("authcodes.authcode", "change", unassigned.pk)))


def test_product_no_longer_sold_is_rejected_for_a_new_batch(client, brand):
    product = factories.product(brand, title="Old serum", is_active=False)

    answer = summary(client, brand, product=product.pk)

    assert "This product is no longer sold." in text(answer)


@pytest.mark.parametrize(("query", "titles"), [({"active": "yes"}, {"New serum"}), ({}, {"New serum", "Old serum"})])
def test_autocomplete_lists_sold_products_in_forms_and_all_in_filters(client, brand, query, titles):
    factories.product(brand, title="Old serum", is_active=False)
    factories.product(brand, title="New serum")
    field = {"app_label": "authcodes", "model_name": "batchrange", "field_name": "product", "term": "serum"}

    answer = client.get(reverse("admin:autocomplete"), {**field, **query}).json()

    assert {each["text"].split(" (")[0] for each in answer["results"]} == titles


def test_batch_form_requests_only_products_that_are_sold(client):
    html = client.get(address("authcodes.batchrange", "add")).content.decode()

    assert f"{reverse('admin:autocomplete')}?active=yes" in html
