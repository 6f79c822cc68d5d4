"""Concurrent confirmations: a violated constraint is reported as a message, and nothing is written partially.

And uploads that expire or are replaced while a job checks them.
"""

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from authcodes.models.products import Product
from brands.models.audit import AuditLogEntry
from campaigns.models.campaigns import Campaign, Milestone
from jobs import runner, staged_uploads
from jobs.models import Job
from portal.import_export import imports, large_files, tables
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_during_transaction
from tests.support.imports import confirm, preview, problem, ticket_of, upload
from tests.support.portal import browser, staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media")]
PRODUCT, CAMPAIGN = "authcodes.product", "campaigns.campaign"
CONFLICT_MESSAGES = {
    "A colleague has changed this at the same time. Nothing was saved. Try again.",
    "The rows have changed since the preview. Nothing was imported. Upload the file again.",
    "Lines of the file have errors. Nothing was imported.",
}


@pytest.fixture
def brand(transactional_db):
    return factories.brand()


def test_only_one_of_several_confirmations_of_the_same_rows_is_imported(brand):
    users = [staff(brand) for _ in range(6)]
    content = "sku,title\n" + "".join(f"S{number},Title\n" for number in range(30))
    tickets = [(user, ticket_of(preview(user, PRODUCT, brand, content))) for user in users]

    responses = run_concurrently(
        lambda user_and_ticket: confirm(user_and_ticket[0], PRODUCT, user_and_ticket[1]), tickets, threads=6
    )

    assert sorted(response.status_code for response in responses) == [302, 400, 400, 400, 400, 400]
    assert {problem(response) for response in responses if response.status_code == 400} <= CONFLICT_MESSAGES
    assert Product.objects.filter(brand=brand).count() == 30
    assert AuditLogEntry.objects.filter(kind=PRODUCT, brand=brand).count() == 30


def test_unique_key_taken_first_by_a_colleague_is_reported(brand):
    owner = staff(brand)
    ticket = ticket_of(preview(owner, PRODUCT, brand, "sku,title\nA,Mine\nB,Mine\n"))

    response = run_during_transaction(
        lambda: factories.product(brand, sku="B", title="Faster"), lambda: confirm(owner, PRODUCT, ticket)
    )

    assert (response.status_code, problem(response) in CONFLICT_MESSAGES) == (400, True)
    assert list(Product.objects.values_list("sku", "title")) == [("B", "Faster")]


def test_control_database_rejects_the_duplicate_with_an_integrity_error(brand):
    """Without the handling, this would be an error 500."""

    def insert():
        with transaction.atomic():
            factories.product(brand, sku="B", title="Mine")

    outcome = run_during_transaction(lambda: factories.product(brand, sku="B", title="Faster"), insert)

    assert isinstance(outcome, IntegrityError)


def test_constraint_checked_at_commit_is_reported_too(brand, monkeypatch):
    """A colleague lowers the goal of a campaign while its milestones are imported."""
    owner = staff(brand)
    campaign = factories.campaign(brand, campaign_name="Ten", target_value=10)
    content = "name,target_value,milestone_1_threshold,milestone_1_reward\nTen,10,9,Coffee\n"
    ticket = ticket_of(preview(owner, CAMPAIGN, brand, content))
    monkeypatch.setattr("campaigns.admin.resources.check_stored_milestones", lambda: None)
    monkeypatch.setattr("campaigns.admin.resources.CampaignResource._check_milestones", lambda *_args: None)
    monkeypatch.setattr(Campaign, "full_clean", lambda *_args, **_kwargs: None)
    set_imported = imports.staged_uploads.set_imported

    def lower_target_then_set_imported(upload, **fields):
        Campaign.objects.filter(pk=campaign.pk).update(target_value=5)
        set_imported(upload, **fields)

    monkeypatch.setattr(imports.staged_uploads, "set_imported", lower_target_then_set_imported)

    response = confirm(owner, CAMPAIGN, ticket)

    assert (response.status_code, problem(response)) == (
        400,
        "A colleague has changed this at the same time. Nothing was saved. Try again.",
    )
    assert (Milestone.objects.count(), Campaign.objects.get().target_value) == (0, 10)


def test_concurrent_uploads_of_one_user_each_get_a_response(brand):
    owner = staff(brand)

    responses = run_concurrently(
        lambda title: upload(owner, PRODUCT, brand, f"sku,title\nA,{title}\n"), ["a", "b", "c", "d"], threads=4
    )

    assert {response.status_code for response in responses} <= {302, 400}
    assert 302 in {response.status_code for response in responses}


# --- A check by a job ------------------------------------------------------------------------------------------------


def check_while(monkeypatch, brand, act):
    """Upload a file that a job checks, and `act` on the upload before the job stores its preview."""
    monkeypatch.setattr(tables, "MAX_ROWS", 2)
    owner, checked = staff(brand), large_files._checked

    def check(staged, run):
        result = checked(staged, run)
        act(staged)
        return result

    monkeypatch.setattr(large_files, "_checked", check)
    response = upload(owner, PRODUCT, brand, "sku,title\nA,Title\nB,Title\nC,Title\n")
    runner.run(Job.objects.get().pk)
    return Job.objects.get(), owner, response["Location"]


def test_upload_that_expires_during_its_check_is_not_purged(brand, monkeypatch):
    purged = []

    job, owner, address = check_while(
        monkeypatch, brand, lambda staged: purged.append(staged_uploads.purge(at=staged.expires_at))
    )

    assert (purged, job.status) == ([0], "done")
    assert confirm(owner, PRODUCT, ticket_of(browser(owner).get(address))).status_code == 302


@transaction.atomic
def replace_upload(staged):
    staged_uploads.discard(staged)


def expire_upload(staged):
    """As an erasure of a member does."""
    staged_uploads.expire(brand_id=staged.brand_id, at=timezone.now())


@pytest.mark.parametrize(
    ("act", "reason"),
    [(replace_upload, "replaced by a later one"), (expire_upload, "The check did not finish. Upload the file again.")],
)
def test_check_of_an_upload_that_is_gone_logs_why_instead_of_a_result(brand, monkeypatch, act, reason):
    job, _owner, _address = check_while(monkeypatch, brand, act)

    assert (job.status, reason in job.log, "Checked." in job.log) == ("done", True, False)
