"""Confirmations at once: whatever constraint they break together is told in words, and nothing is written by halves."""

import pytest
from django.db import IntegrityError, transaction

from authcodes.models.products import Product
from brands.models.audit import AuditLogEntry
from campaigns.models.campaigns import Campaign, Milestone
from portal.import_export import imports
from tests.support import factories
from tests.support.concurrency import at_once, while_uncommitted
from tests.support.imports import confirm, preview, problem, ticket_of, upload
from tests.support.portal import staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media")]
PRODUCT, CAMPAIGN = "authcodes.product", "campaigns.campaign"
ANSWERS = {
    "A colleague has changed this at the same time. Nothing was saved. Try again.",
    "The rows have changed since the preview. Nothing was imported. Upload the file again.",
    "Lines of the file have errors. Nothing was imported.",
}


@pytest.fixture
def brand(transactional_db):
    return factories.brand()


def test_of_several_confirmations_of_the_same_new_rows_one_is_imported(brand):
    people = [staff(brand) for _ in range(6)]
    content = "sku,title\n" + "".join(f"S{number},Title\n" for number in range(30))
    tickets = [(person, ticket_of(preview(person, PRODUCT, brand, content))) for person in people]

    answers = at_once(lambda each: confirm(each[0], PRODUCT, each[1]), tickets, threads=6)

    assert sorted(answer.status_code for answer in answers) == [302, 400, 400, 400, 400, 400]
    assert {problem(answer) for answer in answers if answer.status_code == 400} <= ANSWERS
    assert Product.objects.filter(brand=brand).count() == 30
    assert AuditLogEntry.objects.filter(kind=PRODUCT, brand=brand).count() == 30


def test_unique_key_that_somebody_takes_first_is_told_and_nothing_is_written(brand):
    owner = staff(brand)
    ticket = ticket_of(preview(owner, PRODUCT, brand, "sku,title\nA,Mine\nB,Mine\n"))

    answer = while_uncommitted(
        lambda: factories.product(brand, sku="B", title="Faster"), lambda: confirm(owner, PRODUCT, ticket)
    )

    assert (answer.status_code, problem(answer) in ANSWERS) == (400, True)
    assert list(Product.objects.values_list("sku", "title")) == [("B", "Faster")]


def test_control_the_database_itself_breaks_the_transaction(brand):
    """What would be an error 500 without words for it."""

    def insert():
        with transaction.atomic():
            factories.product(brand, sku="B", title="Mine")

    outcome = while_uncommitted(lambda: factories.product(brand, sku="B", title="Faster"), insert)

    assert isinstance(outcome, IntegrityError)


def test_constraint_that_is_looked_at_when_all_is_committed_is_told_too(brand, monkeypatch):
    """A colleague lowers the goal of a campaign while its milestones are imported."""
    owner = staff(brand)
    campaign = factories.campaign(brand, campaign_name="Ten", target_value=10)
    content = "name,target_value,milestone_1_threshold,milestone_1_reward\nTen,10,9,Coffee\n"
    ticket = ticket_of(preview(owner, CAMPAIGN, brand, content))
    monkeypatch.setattr("campaigns.admin.resources.check_stored_milestones", lambda: None)
    monkeypatch.setattr("campaigns.admin.resources.CampaignResource._check_milestones", lambda *_what: None)
    monkeypatch.setattr(Campaign, "full_clean", lambda *_what, **_more: None)
    lowered = imports.staged_uploads.set_imported

    def lower_then(upload, **more):
        Campaign.objects.filter(pk=campaign.pk).update(target_value=5)
        lowered(upload, **more)

    monkeypatch.setattr(imports.staged_uploads, "set_imported", lower_then)

    answer = confirm(owner, CAMPAIGN, ticket)

    assert (answer.status_code, problem(answer)) == (
        400,
        "A colleague has changed this at the same time. Nothing was saved. Try again.",
    )
    assert (Milestone.objects.count(), Campaign.objects.get().target_value) == (0, 10)


def test_same_person_uploading_twice_at_once_gets_an_answer_for_each(brand):
    owner = staff(brand)

    answers = at_once(
        lambda title: upload(owner, PRODUCT, brand, f"sku,title\nA,{title}\n"), ["a", "b", "c", "d"], threads=4
    )

    assert {answer.status_code for answer in answers} <= {302, 400}
    assert 302 in {answer.status_code for answer in answers}
