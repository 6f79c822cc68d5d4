"""The pages of replays: starting one from a rule, its figures, its file, and who may see what."""

import csv
import io

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from campaigns.models.replays import Replay
from campaigns.replay import drafts, jobs
from jobs.models import Job
from loyalty.models.programme.costs import PointCost
from tests.campaigns.earning.earning_rules import rule, scan
from tests.campaigns.replay.history import replayed, replayed_draft
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db
LABEL, RULES = "campaigns.replay", "campaigns.earningrule"


@pytest.fixture
def draft(brand):
    return rule(brand, "scan-auth", 5, "bonus", name="=Five more", state="draft")


@pytest.fixture
def finished(brand, customer, draft):
    """A replay of two scans, as a job leaves it."""
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.5")
    for _time in range(2):
        scan(brand, customer)
    made = jobs.start(brand=brand, draft=drafts.of_rule(draft), days=7, by=None, at=timezone.now())
    Replay.objects.filter(pk=made.pk).update(result=replayed(draft), finished_at=timezone.now())
    made.refresh_from_db()
    return made


def test_a_rules_page_starts_a_replay(brand, draft):
    client = browser(staff(brand))
    where = address(RULES, "replay", draft.pk)

    assert "Nobody gets or loses points" in text(client.get(where))
    response = client.post(where, {"days": "30"})

    made = Replay.objects.get()
    assert response.url == address(LABEL, "change", made.pk)
    assert (made.rule, made.content["reward_value"], made.created_by.is_staff) == (draft, "5.00", True)
    job = Job.objects.get()
    assert (job.pk, job.kind, job.status) == (made.job_id, "replay-rule", "queued")
    assert "Queued" in text(client.get(response.url))


@pytest.mark.parametrize("days", ["0", "91", "-1", "many", "", "9" * 40, "1.5"])
def test_days_that_are_not_kept_are_refused_at_their_field(brand, draft, days):
    response = browser(staff(brand)).post(address(RULES, "replay", draft.pk), {"days": days})

    assert response.status_code == 200
    assert response.context["form"].errors["days"]
    assert not Replay.objects.exists()


def test_the_page_shows_what_was_found(brand, customer, finished):
    page = text(browser(staff(brand)).get(address(LABEL, "change", finished.pk)))

    for part in ("Points paid", "20", "30", "+10", "0 differences", customer.email, "What a replay cannot know", "+5"):
        assert part in page, part


def test_the_rules_page_shows_the_last_one(brand, draft, finished):
    page = text(browser(staff(brand)).get(address(RULES, "change", draft.pk)))

    assert "20 points were paid; with this rule 30 (+10). 0 differences." in page
    assert address(LABEL, "change", finished.pk) in page


def test_the_file_has_the_figures_and_no_addresses(brand, customer, finished):
    response = browser(staff(brand)).get(address(LABEL, "export", finished.pk))

    rows = list(csv.DictReader(io.StringIO(text(response))))
    account = factories.account(customer, brand)
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"].startswith("attachment;")
    assert {(row["part"], row["name"]): (row["points_paid"], row["points_with_draft"]) for row in rows} == {
        ("day", str(timezone.now().astimezone(brand.zone).date())): ("20", "30"),
        ("level", "Bronze"): ("20", "30"),
        ("rule", "Points of levels"): ("20", "20"),
        ("rule", "'=Five more"): ("0", "10"),
        ("gains_most", str(account.pk)): ("20", "30"),
    }
    assert rows[0]["cost_with_draft"] == "15"
    assert customer.email not in text(response)


def test_a_replay_that_runs_has_no_file(brand, draft):
    made = jobs.start(brand=brand, draft=drafts.of_rule(draft), days=7, by=None, at=timezone.now())

    assert browser(staff(brand)).get(address(LABEL, "export", made.pk)).status_code == 404


def test_support_reads_and_starts_none(brand, draft, finished):
    client = browser(staff(brand, role="support"))

    assert "Points paid" in text(client.get(address(LABEL, "change", finished.pk)))
    assert client.post(address(RULES, "replay", draft.pk), {"days": "7"}).status_code == 403
    assert Replay.objects.count() == 1


def test_what_it_costs_is_for_those_who_see_what_a_point_costs(brand, draft, finished):
    for role, sees in (("manager", True), ("support", False)):
        client = browser(staff(brand, role=role))
        page = text(client.get(address(LABEL, "change", finished.pk)))
        rows = list(csv.DictReader(io.StringIO(text(client.get(address(LABEL, "export", finished.pk))))))

        assert (f"Cost ({brand.currency})" in page, "at your cost per point" in page) == (sees, sees), role
        assert any(row["cost_paid"] or row["cost_with_draft"] for row in rows) is sees, role
        assert any(row["points_with_draft"] for row in rows)


def test_printers_see_none(brand, finished):
    client = browser(staff(brand, role="printer"))

    assert client.get(address(LABEL)).status_code == 403
    assert client.get(address(LABEL, "change", finished.pk)).status_code in {403, 404}


def test_staff_of_another_brand_find_nothing(brand, draft, finished):
    client = browser(staff(factories.brand()))

    for where in (address(LABEL, "change", finished.pk), address(LABEL, "export", finished.pk)):
        assert client.get(where).status_code == 404
    assert client.post(address(RULES, "replay", draft.pk), {"days": "7"}).status_code in {403, 404}
    assert "=Five more" not in text(client.get(address(LABEL)))


def test_a_start_is_noted(brand, draft):
    browser(staff(brand)).post(address(RULES, "replay", draft.pk), {"days": "30"})

    assert AuditLogEntry.objects.filter(kind=RULES, row_id=draft.pk, action="Replayed past actions").exists()


# --- Which draft is chosen
def start_page(kind, **more):
    query = "&".join(f"{name}={value}" for name, value in {"kind": kind, **more}.items())
    return f"/admin/campaigns/replay/draft/?{query}"


def test_a_rule_is_chosen_on_the_page_of_replays(brand, draft):
    client = browser(staff(brand))
    other = rule(factories.brand(), "scan-auth", 5, name="Not yours")

    page = text(client.get(start_page("rule")))
    assert "=Five more" in page
    assert "Not yours" not in page
    assert client.post(start_page("rule"), {"rule": other.pk, "days": 7}).context["form"].errors["rule"]
    client.post(start_page("rule"), {"rule": draft.pk, "days": 7})

    assert Replay.objects.get().rule == draft


def test_levels_are_changed_added_and_left_out(brand):
    client = browser(staff(brand))
    factories.level(brand, "Gold", 1_000)
    page = client.get(start_page("levels"))
    assert [row[0].value() for row in page.context["form"].rows] == ["Bronze", "Gold", "", "", ""]
    rows = [("Bronze", "0", "2"), ("", "1000", "9"), ("Silver", "50", "7.5")]
    fields = {
        f"{name}-{number}": value
        for number, row in enumerate(rows)
        for name, value in zip(("name", "threshold", "value"), row, strict=True)
    }

    response = client.post(start_page("levels"), {**fields, "type-2": "percentage", "days": 7})

    made = Replay.objects.get()
    assert response.url == address(LABEL, "change", made.pk)
    assert made.kind == "levels"
    assert made.content["levels"] == [["Bronze", "0", "points", "2"], ["Silver", "50", "percentage", "7.5"]]
    assert AuditLogEntry.objects.filter(kind=LABEL, row_id=made.pk, action="Replayed past actions").exists()


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"threshold-0": "many"}, "threshold-0"),
        ({"value-0": ""}, "value-0"),
        ({"threshold-0": "-1"}, "threshold-0"),
        ({"name-0": ""}, "__all__"),
        ({"name-1": "bronze", "threshold-1": "5", "value-1": "1"}, "__all__"),
        ({"days": "0"}, "days"),
    ],
)
def test_levels_that_cannot_be_are_refused_at_their_field(brand, fields, place):
    usual = {"name-0": "Bronze", "threshold-0": "0", "type-0": "points", "value-0": "1", "days": "7"}

    response = browser(staff(brand)).post(start_page("levels"), {**usual, **fields})

    assert response.status_code == 200
    assert response.context["form"].errors[place]
    assert not Replay.objects.exists()


def test_a_campaigns_page_leads_to_its_replay(brand, customer):
    scan(brand, customer)
    campaign = factories.campaign(brand, is_active=False, campaign_name="Ten jackets", target_value=1)
    factories.milestone(campaign, 1, reward_points=9, reward_name="Nine points")
    client = browser(staff(brand))

    response = client.get(address("campaigns.campaign", "replay_campaign", campaign.pk))
    assert f"row={campaign.pk}" in response.url
    assert client.get(response.url).context["form"].fields["campaign"].initial == str(campaign.pk)
    client.post(response.url, {"campaign": campaign.pk, "days": 7})
    made = Replay.objects.get()
    result = replayed_draft(brand, drafts.of_campaign(campaign))
    Replay.objects.filter(pk=made.pk).update(result=result, finished_at=timezone.now())

    page = text(client.get(address(LABEL, "change", made.pk)))
    for part in ("With this campaign", "Nine points", "1 of 1", "9 points"):
        assert part in page, part
    assert "milestone,Nine points,0,9" in text(client.get(address(LABEL, "export", made.pk)))


@pytest.mark.parametrize(("price", "shown"), [("40", "the reward once, worth 20.00 EUR"), (None, "the reward once<")])
def test_rewards_of_the_catalogue_are_worth_their_price_in_points(brand, customer, price, shown):
    brand.currency = "EUR"
    brand.save()
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.5")
    campaign = factories.campaign(brand, target_value=1, is_active=False)
    factories.milestone(campaign, 1, reward=factories.reward(brand, cost=price), auto_claim=True)
    scan(brand, customer)
    made = jobs.start(brand=brand, draft=drafts.of_campaign(campaign), days=7, by=None, at=timezone.now())
    result = replayed_draft(brand, drafts.of_campaign(campaign))
    Replay.objects.filter(pk=made.pk).update(result=result, finished_at=timezone.now())
    Job.objects.filter(pk=made.job_id).update(status="done")
    client = browser(staff(brand))

    assert shown in text(client.get(address(LABEL, "change", made.pk)))
    page = text(client.get(address("campaigns.campaign", "page", campaign.pk)))
    assert ("the rewards are worth 20.00 EUR" in page) is (price is not None)
    assert ("What the rewards cost is not included" in page) is (price is None)
    support = browser(staff(brand, role="support"))
    for where in (address(LABEL, "change", made.pk), address("campaigns.campaign", "page", campaign.pk)):
        page = support.get(where)
        assert page.status_code == 200
        assert "worth" not in text(page)
        assert "What the rewards cost" not in text(page)


def test_who_may_change_nothing_replays_nothing(brand, draft):
    client = browser(staff(brand, role="support"))

    assert client.get(start_page("rule")).status_code == 403
    assert client.post(start_page("rule"), {"rule": draft.pk, "days": 7}).status_code == 403
    assert not Replay.objects.exists()


@pytest.mark.parametrize("more", [{"kind": "x"}, {"brand": "x"}, {"brand": "9" * 30}, {"brand": "0"}])
def test_what_is_no_kind_and_no_brand_is_not_there(brand, more):
    assert browser(staff(brand)).get(start_page(**{"kind": "rule", **more})).status_code == 404


def test_another_brands_page_is_not_there(brand):
    assert browser(staff(brand)).get(start_page("levels", brand=factories.brand().pk)).status_code == 404
