"""A batch's pages: what became of it, and what may still change."""

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


def listed(client, where):
    return sorted(row.code for row in client.get(where).context["cl"].result_list)


def test_batch_page_counts_its_codes_and_leads_to_them(client, brand, batch):
    codes = list(batch.codes.order_by("code"))
    AuthCode.objects.filter(pk__in=[code.pk for code in codes[:7]]).update(product=factories.product(brand))
    scan.scan(scanned=codes[0].code, context=ScanContext(at=timezone.now()))
    factories.deactivate(codes=codes[8:], at=timezone.now())
    factories.batch(brand, quantity=3)

    facts = page(client, batch).context["batch_figures"]

    stages = facts["stages"]
    assert [(stage.title, stage.number) for stage in stages] == [
        ("Generated", 10),
        ("Assigned", 7),
        ("Printed", 0),
        ("In the shops", 0),
        ("Scanned", 1),
    ]
    names = [code.code for code in codes]
    links = [stages[0].link, stages[1].link, stages[4].link, facts["deactivated_address"]]
    assert [listed(client, link) for link in links] == [names, names[:7], names[:1], names[8:]]
    assert facts["deactivated"] == "2"


def test_pages_of_a_batch_read_few_codes_or_those_that_a_partial_index_holds(client, batch):
    recall = f"{address('authcodes.recall', 'add')}?batch={batch.pk}"
    with CaptureQueriesContext(connection) as queries:
        assert page(client, batch).status_code == client.get(recall).status_code == 200

    statements = [" ".join(query["sql"].replace('"', "").split()) for query in queries]
    reading = [sql for sql in statements if "authcodes_authcode" in sql]
    assert len(reading) == 6
    allowed = (
        "WHERE product_id IS NULL AND brand_id = ANY",
        "deactivated_at IS NOT NULL",
        "WHERE a.code =",
        "LIMIT 26",
        "LIMIT 1000",
        "f.step <",  # one step for each product of a batch, of which so many are read
    )
    assert [sql for sql in reading if not any(fragment in sql for fragment in allowed)] == []


def test_limit_below_what_was_scanned_is_refused_and_says_how_often(client, brand):
    batch = factories.batch(brand, scan_limit=None, quantity=2)
    for _scan in range(3):
        scan.scan(scanned=batch.first_code, context=ScanContext(at=timezone.now()))

    def limited(limit):
        its = address("authcodes.batchrange", "change", batch.pk)
        return client.post(its, {**form_of(client.get(its)), "scan_limit": limit, "reason": "Sale"})

    refused = limited(2)

    assert "already been scanned 3 times" in refused.context["adminform"].form.errors["scan_limit"][0]
    assert [limited(limit).status_code for limit in (3, "", 7)] == [302, 302, 302]


def test_batch_page_offers_what_the_person_may_do(brand, batch):
    def offered(role):
        shown = text(page(browser(staff(brand, role=role)), batch))
        own = address("authcodes.batchrange", "change", batch.pk).removesuffix("change/")
        buttons = set(re.findall(f'formaction="{own}([a-z]+)/"', shown))
        return buttons | {link.removeprefix(own).strip("/") for link in links(shown) if link == f"{own}recall/"}

    acts = {"assign", "unassign", "deactivate", "reactivate", "deliver", "undeliver"}
    assert offered("owner") == {*acts, "recall"}
    assert offered("printer") == acts
    assert offered("support") == set()


def test_batch_page_leads_to_the_exports_of_its_rows(client, brand, batch):
    for label, tab in (("authcode", "codes"), ("scan", "scans")):
        shown = text(page(client, batch, tab=tab))
        assert f"{address(f'authcodes.{label}', 'export')}?batch__id__exact={batch.pk}" in shown
    printer = browser(staff(brand, role="printer"))
    assert address("authcodes.scan", "export") not in text(page(printer, batch, tab="scans"))


def test_batch_without_codes_offers_the_job_that_makes_them(client, brand, owner):
    batch_settings = BatchSettings(range_name="Slow", quantity=10, prefix="SL-", signed=False)
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now(), by=owner)
    job = batches.start_generation(batch=batch, by=owner)

    shown = text(page(client, batch))

    assert address("jobs.job", "change", job.pk) in shown
    assert address("authcodes.batchrange", "assign", batch.pk) not in shown


@pytest.fixture
def stopped(brand):
    """A batch whose job was cancelled when four of its ten codes were made."""
    batch_settings = BatchSettings(range_name="Slow", quantity=10, prefix="SL-", signed=False, number_width=4)
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())
    job = batches.start_generation(batch=batch, by=None)
    Job.objects.update(cancel_requested=True)
    with override_settings(GENERATION_CHUNK=4):
        runner.run(job.pk)
    return batch


def finish(client, batch):
    return client.post(address("authcodes.batchrange", "finish", batch.pk))


def test_missing_codes_of_a_stopped_batch_are_made_from_its_page(client, owner, stopped):
    shown = text(page(client, stopped))
    assert all(
        expected_text in shown
        for expected_text in ("Stopped: 40 %", "6 codes have not been generated", "Generate the missing codes")
    )

    answer = finish(client, stopped)

    job = Job.objects.first()
    assert answer.headers["Location"] == address("jobs.job", "change", job.pk)
    assert (job.kind, job.created_by, job.status) == ("generate", owner, "queued")
    assert "Generating: 40 %" in text(client.get(address("authcodes.batchrange")))
    runner.run(job.pk)
    assert (stopped.codes.count(), "Ready" in text(page(client, stopped))) == (10, True)


def test_codes_that_are_being_made_or_are_made_are_not_asked_for_again(client, stopped):
    finish(client, stopped)
    assert "Generate the missing codes" not in text(page(client, stopped))
    finish(client, stopped)
    runner.run(Job.objects.first().pk)
    finish(client, stopped)

    assert "Generate the missing codes" not in text(page(client, stopped))
    assert Job.objects.count() == 2


@pytest.mark.parametrize(("role", "status"), [("printer", 302), ("support", 403)])
def test_who_may_make_batches_may_make_their_missing_codes(brand, stopped, role, status):
    client = browser(staff(brand, role=role))

    assert ("Generate the missing codes" in text(page(client, stopped))) is (status == 302)
    assert client.get(address("authcodes.batchrange", "finish", stopped.pk)).status_code == 405
    assert finish(client, stopped).status_code == status
    assert finish(browser(staff(factories.brand())), stopped).status_code == 404


def test_batch_page_tells_who_did_what_when_and_why(client, brand, owner, batch):
    brand.time_zone = "Asia/Kolkata"
    brand.save()
    at = timezone.now().replace(hour=20, minute=0)
    factories.deactivate(codes=list(batch.codes.all()), at=at, reason="a pallet was <stolen>", by=owner)

    shown = text(page(client, batch, tab="history"))

    assert "a pallet was &lt;stolen&gt;" in shown
    assert owner.email in shown
    assert "01:30 IST" in shown
    assert address("authcodes.codechange") + f"?batch__id__exact={batch.pk}" in shown


def test_history_of_a_batch_is_capped_and_costs_the_same(client, batch):
    def count_queries():
        with CaptureQueriesContext(connection) as seen:
            page(client, batch, tab="history")
        return len(seen)

    page(client, batch, tab="history")
    first = count_queries()
    for number in range(30):
        switch = factories.reactivate if number % 2 else factories.deactivate
        switch(codes=[batch.codes.first()], at=timezone.now(), reason=str(number))

    assert count_queries() == first
    assert first <= 20
    assert len(page(client, batch, tab="history").context["batch_history"]["lines"]) == 20


def test_settings_that_change_are_in_the_history(client, owner, batch):
    its = address("authcodes.batchrange", "change", batch.pk)

    client.post(its, {**form_of(client.get(its)), "points_per_scan": 9, "reason": "Spring"})

    line = batch.changes.get(kind="edited")
    assert (line.detail, line.changed_by) == ("points per scan: empty → 9", owner)
    assert not Job.objects.exists()


def test_code_changes_are_listed_and_filtered(client, batch):
    code = batch.codes.order_by("code").first()
    factories.deactivate(codes=[code], at=timezone.now(), reason="stolen")
    page = address("authcodes.codechange")

    found = client.get(page, {"kind__exact": "deactivated"}).context["cl"].result_list
    assert [(line.run, line.reason) for line in found] == [("AB-0001", "stolen")]
    assert "stolen" in text(client.get(address("authcodes.codechange", "change", found[0].pk)))
    assert len(client.get(page, {"q": "AB-"}).context["cl"].result_list) == 2


def test_batch_page_says_what_scans_earn_while_the_campaign_is_not_running(client, brand):
    over = factories.campaign(brand, is_active=False, campaign_name="Winter")
    silent, paying = (
        factories.batch(brand, campaign=over, after_campaign="nothing"),
        factories.batch(brand, campaign=over),
    )

    assert "The campaign Winter is not running. Scans earn nothing." in text(page(client, silent))
    assert "The campaign Winter is not running. Scans earn their usual points." in text(page(client, paying))


def test_whoever_changes_points_of_existing_codes_reads_the_cost_and_gives_a_reason(client, owner, brand):
    batch = factories.batch(brand, quantity=25, scan_limit=2)
    its = address("authcodes.batchrange", "change", batch.pk)
    filled = {**form_of(client.get(its)), "points_per_scan": 500}

    response = client.post(its, filled)
    batch.refresh_from_db()
    before = batch.points_per_scan
    client.post(its, {**filled, "reason": "Autumn promotion"})

    batch.refresh_from_db()
    assert "These 25 codes can then earn up to 25,000 points in total." in text(response)
    assert (before, batch.points_per_scan) == (None, 500)
    assert batch.changes.get(kind="edited").reason == "Autumn promotion"
    assert AuditLogEntry.objects.filter(kind="authcodes.batchrange", reason="Autumn promotion").exists()


def test_unlimited_scans_have_no_upper_limit_of_points(client, batch):
    its = address("authcodes.batchrange", "change", batch.pk)

    response = client.post(its, {**form_of(client.get(its)), "scan_limit": ""})

    assert "the total points have no limit" in text(response)


def test_other_settings_of_a_batch_need_no_reason(client, batch):
    its = address("authcodes.batchrange", "change", batch.pk)

    client.post(its, {**form_of(client.get(its)), "range_name": "Renamed", "after_campaign": "nothing"})

    batch.refresh_from_db()
    assert (batch.range_name, batch.after_campaign) == ("Renamed", "nothing")


@pytest.mark.parametrize("role", ["printer", "support"])
def test_who_sets_no_points_is_asked_for_no_reason_and_changes_nothing_that_costs(brand, batch, role):
    client = browser(staff(brand, role=role))
    its = address("authcodes.batchrange", "change", batch.pk)
    form = form_of(client.get(its))

    client.post(its, {**form, "points_per_scan": 500, "scan_limit": 9, "after_campaign": "nothing", "reason": "x"})

    batch.refresh_from_db()
    assert not {"points_per_scan", "scan_limit", "after_campaign", "reason"} & set(form)
    assert (batch.points_per_scan, batch.scan_limit, batch.after_campaign) == (None, 1, "points")


def test_expired_batch_is_listed_as_expired_and_found_by_its_state(client, brand):
    factories.expired_code(brand)
    fresh = factories.batch(brand)
    recalled = factories.batch(brand)
    recalls.recall_batch(batch=recalled, recall_id="R-1", contact="c", message="m", reason="r", at=timezone.now())

    def listed(**query):
        return set(client.get(address("authcodes.batchrange", "changelist"), query).context["cl"].result_list)

    [expired] = listed(state="expired")
    assert expired.expiration_date
    assert "Expired" in text(page(client, expired))
    assert listed(state="ready") == {fresh}
    assert listed(state="recalled") == {recalled}


def test_codes_without_a_product_are_listed_as_not_assigned(client, brand):
    [loose], [good] = (factories.batch(brand, assigned=assigned).codes.all() for assigned in (False, True))

    def listed(status):
        return list(
            client.get(address("authcodes.authcode", "changelist"), {"status": status}).context["cl"].result_list
        )

    assert (listed("unassigned"), listed("unscanned")) == ([loose], [good])
    assert "Not assigned" in text(client.get(address("authcodes.authcode", "change", loose.pk)))


def test_products_no_longer_sold_are_given_to_no_codes(client, brand):
    product = factories.product(brand, title="Old serum", is_active=False)

    answer = summary(client, brand, product=product.pk)

    assert "This product is no longer sold." in text(answer)


@pytest.mark.parametrize(("query", "found"), [({"sold": "yes"}, {"New serum"}), ({}, {"New serum", "Old serum"})])
def test_forms_look_up_products_that_are_sold_and_filters_all(client, brand, query, found):
    factories.product(brand, title="Old serum", is_active=False)
    factories.product(brand, title="New serum")
    field = {"app_label": "authcodes", "model_name": "batchrange", "field_name": "product", "term": "serum"}

    answer = client.get(reverse("admin:autocomplete"), {**field, **query}).json()

    assert {each["text"].split(" (")[0] for each in answer["results"]} == found


def test_forms_of_batches_ask_for_products_that_are_sold(client):
    page = client.get(address("authcodes.batchrange", "add")).content.decode()

    assert f"{reverse('admin:autocomplete')}?sold=yes" in page
