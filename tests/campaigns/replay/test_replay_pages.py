"""The pages of replays: starting one, its figures, its file, and permissions."""

import csv
import io
from decimal import Decimal

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from campaigns.admin.replays.figures import signed
from campaigns.models.replays import Replay
from campaigns.replay import drafts, jobs
from core import languages
from jobs.models import Job
from loyalty.models.programme.costs import PointCost
from tests.campaigns.earning.earning_rules import rule, scan
from tests.campaigns.replay.history import replay_draft, replay_rule
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db
LABEL, RULES = "campaigns.replay", "campaigns.earningrule"


@pytest.fixture
def draft(brand):
    return rule(brand, "scan-auth", 5, "bonus", name="=Five more", state="draft")


@pytest.fixture
def finished_replay(brand, customer, draft):
    """A finished replay of two scans."""
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.5")
    for _time in range(2):
        scan(brand, customer)
    new_replay = jobs.start(brand=brand, draft=drafts.of_rule(draft), days=7, by=None, at=timezone.now())
    Replay.objects.filter(pk=new_replay.pk).update(result=replay_rule(draft), finished_at=timezone.now())
    new_replay.refresh_from_db()
    return new_replay


def test_page_of_a_rule_starts_a_replay(brand, draft):
    client = browser(staff(brand))
    url = address(RULES, "replay", draft.pk)

    assert "Nobody gets or loses points" in text(client.get(url))
    response = client.post(url, {"days": "30"})

    new_replay = Replay.objects.get()
    assert response.url == address(LABEL, "change", new_replay.pk)
    assert (new_replay.rule, new_replay.content["reward_value"], new_replay.created_by.is_staff) == (
        draft,
        "5.00",
        True,
    )
    job = Job.objects.get()
    assert (job.pk, job.kind, job.status) == (new_replay.job_id, "replay-rule", "queued")
    assert "Queued" in text(client.get(response.url))


@pytest.mark.parametrize("days", ["0", "91", "-1", "many", "", "9" * 40, "1.5"])
def test_invalid_number_of_days_is_rejected_at_its_field(brand, draft, days):
    response = browser(staff(brand)).post(address(RULES, "replay", draft.pk), {"days": days})

    assert response.status_code == 200
    assert response.context["form"].errors["days"]
    assert not Replay.objects.exists()


def test_page_shows_the_result(brand, customer, finished_replay):
    page = text(browser(staff(brand)).get(address(LABEL, "change", finished_replay.pk)))

    for part in ("Points paid", "20", "30", "+10", "0 differences", customer.email, "What a replay cannot know", "+5"):
        assert part in page, part


@pytest.mark.parametrize(
    ("number", "language", "expected_text"),
    [
        ("0", "en", "0"),
        ("0.004", "en", "0"),
        ("-1234.565", "en", "−1,234.57"),
        ("1234", "de", "+1.234"),
        ("-5", "ar", "\u200e−5"),
    ],
)
def test_sign_precedes_the_number_in_every_language(number, language, expected_text):
    with languages.override(language):
        assert signed(Decimal(number)) == expected_text


def test_page_of_a_rule_shows_its_last_replay(brand, draft, finished_replay):
    page = text(browser(staff(brand)).get(address(RULES, "change", draft.pk)))

    assert "20 points were paid; with this rule 30 (+10). 0 differences." in page
    assert address(LABEL, "change", finished_replay.pk) in page


def test_file_has_the_figures_but_no_email_addresses(brand, customer, finished_replay):
    response = browser(staff(brand)).get(address(LABEL, "export", finished_replay.pk))

    rows = list(csv.DictReader(io.StringIO(text(response))))
    account = factories.account(customer, brand)
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"].startswith("attachment;")
    assert {(row["part"], row["name"]): (row["points_paid"], row["points_with_draft"]) for row in rows} == {
        ("day", str(brand.day_at(timezone.now()))): ("20", "30"),
        ("level", "Bronze"): ("20", "30"),
        ("rule", "Points of levels"): ("20", "20"),
        ("rule", "'=Five more"): ("0", "10"),
        ("gains_most", str(account.pk)): ("20", "30"),
    }
    assert rows[0]["cost_with_draft"] == "15"
    assert customer.email not in text(response)


def test_unfinished_replay_has_no_file(brand, draft):
    new_replay = jobs.start(brand=brand, draft=drafts.of_rule(draft), days=7, by=None, at=timezone.now())

    assert browser(staff(brand)).get(address(LABEL, "export", new_replay.pk)).status_code == 404


def test_support_can_read_but_not_start_replays(brand, draft, finished_replay):
    client = browser(staff(brand, role="support"))

    assert "Points paid" in text(client.get(address(LABEL, "change", finished_replay.pk)))
    assert client.post(address(RULES, "replay", draft.pk), {"days": "7"}).status_code == 403
    assert Replay.objects.count() == 1


def test_costs_are_visible_only_with_permission_for_point_costs(brand, draft, finished_replay):
    for role, sees_costs in (("manager", True), ("support", False)):
        client = browser(staff(brand, role=role))
        page = text(client.get(address(LABEL, "change", finished_replay.pk)))
        rows = list(csv.DictReader(io.StringIO(text(client.get(address(LABEL, "export", finished_replay.pk))))))

        assert (f"Cost ({brand.currency})" in page, "at your cost per point" in page) == (sees_costs, sees_costs), role
        assert any(row["cost_paid"] or row["cost_with_draft"] for row in rows) is sees_costs, role
        assert any(row["points_with_draft"] for row in rows)


def test_printers_cannot_see_replays(brand, finished_replay):
    client = browser(staff(brand, role="printer"))

    assert client.get(address(LABEL)).status_code == 403
    assert client.get(address(LABEL, "change", finished_replay.pk)).status_code in {403, 404}


def test_staff_of_another_brand_cannot_see_or_start_replays(brand, draft, finished_replay):
    client = browser(staff(factories.brand()))

    for url in (address(LABEL, "change", finished_replay.pk), address(LABEL, "export", finished_replay.pk)):
        assert client.get(url).status_code == 404
    assert client.post(address(RULES, "replay", draft.pk), {"days": "7"}).status_code in {403, 404}
    assert "=Five more" not in text(client.get(address(LABEL)))


def test_start_is_recorded_in_the_audit_log(brand, draft):
    browser(staff(brand)).post(address(RULES, "replay", draft.pk), {"days": "30"})

    assert AuditLogEntry.objects.filter(kind=RULES, row_id=draft.pk, action="Replayed past actions").exists()


# --- Choosing the draft
def start_url(kind, **query_fields):
    query = "&".join(f"{name}={value}" for name, value in {"kind": kind, **query_fields}.items())
    return f"/admin/campaigns/replay/draft/?{query}"


def test_rule_can_be_chosen_on_the_start_page(brand, draft):
    client = browser(staff(brand))
    other = rule(factories.brand(), "scan-auth", 5, name="Not yours")

    page = text(client.get(start_url("rule")))
    assert "=Five more" in page
    assert "Not yours" not in page
    assert client.post(start_url("rule"), {"rule": other.pk, "days": 7}).context["form"].errors["rule"]
    client.post(start_url("rule"), {"rule": draft.pk, "days": 7})

    assert Replay.objects.get().rule == draft


def test_levels_can_be_changed_added_and_left_out(brand):
    client = browser(staff(brand))
    factories.level(brand, "Gold", 1_000)
    page = client.get(start_url("levels"))
    assert [row[0].value() for row in page.context["form"].rows] == ["Bronze", "Gold", "", "", ""]
    rows = [("Bronze", "0", "2"), ("", "1000", "9"), ("Silver", "50", "7.5")]
    fields = {
        f"{name}-{number}": value
        for number, row in enumerate(rows)
        for name, value in zip(("name", "threshold", "value"), row, strict=True)
    }

    response = client.post(start_url("levels"), {**fields, "type-2": "percentage", "days": 7})

    new_replay = Replay.objects.get()
    assert response.url == address(LABEL, "change", new_replay.pk)
    assert new_replay.kind == "levels"
    assert new_replay.content["levels"] == [["Bronze", "0", "points", "2"], ["Silver", "50", "percentage", "7.5"]]
    assert AuditLogEntry.objects.filter(kind=LABEL, row_id=new_replay.pk, action="Replayed past actions").exists()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"threshold-0": "many"}, "threshold-0"),
        ({"value-0": ""}, "value-0"),
        ({"threshold-0": "-1"}, "threshold-0"),
        ({"name-0": ""}, "__all__"),
        ({"name-1": "bronze", "threshold-1": "5", "value-1": "1"}, "__all__"),
        ({"days": "0"}, "days"),
    ],
)
def test_invalid_levels_are_rejected_at_their_field(brand, fields, field):
    defaults = {"name-0": "Bronze", "threshold-0": "0", "type-0": "points", "value-0": "1", "days": "7"}

    response = browser(staff(brand)).post(start_url("levels"), {**defaults, **fields})

    assert response.status_code == 200
    assert response.context["form"].errors[field]
    assert not Replay.objects.exists()


def test_page_of_a_campaign_links_to_its_replay(brand, customer):
    scan(brand, customer)
    campaign = factories.campaign(brand, is_active=False, campaign_name="Ten jackets", target_value=1)
    factories.milestone(campaign, 1, reward_points=9, reward_name="Nine points")
    client = browser(staff(brand))

    response = client.get(address("campaigns.campaign", "replay_campaign", campaign.pk))
    assert f"row={campaign.pk}" in response.url
    assert client.get(response.url).context["form"].fields["campaign"].initial == str(campaign.pk)
    client.post(response.url, {"campaign": campaign.pk, "days": 7})
    new_replay = Replay.objects.get()
    result = replay_draft(brand, drafts.of_campaign(campaign))
    Replay.objects.filter(pk=new_replay.pk).update(result=result, finished_at=timezone.now())

    page = text(client.get(address(LABEL, "change", new_replay.pk)))
    for part in ("With this campaign", "Nine points", "1 of 1", "9 points"):
        assert part in page, part
    assert "milestone,Nine points,0,9" in text(client.get(address(LABEL, "export", new_replay.pk)))


@pytest.mark.parametrize(
    ("price", "expected_text"), [("40", "the reward once, worth 20.00 EUR"), (None, "the reward once<")]
)
def test_rewards_of_the_catalogue_are_worth_their_price_in_points(brand, customer, price, expected_text):
    brand.currency = "EUR"
    brand.save()
    PointCost.objects.create(brand=brand, valid_from="2020-01-01", cost="0.5")
    campaign = factories.campaign(brand, target_value=1, is_active=False)
    factories.milestone(campaign, 1, reward=factories.reward(brand, cost=price), auto_claim=True)
    scan(brand, customer)
    new_replay = jobs.start(brand=brand, draft=drafts.of_campaign(campaign), days=7, by=None, at=timezone.now())
    result = replay_draft(brand, drafts.of_campaign(campaign))
    Replay.objects.filter(pk=new_replay.pk).update(result=result, finished_at=timezone.now())
    Job.objects.filter(pk=new_replay.job_id).update(status="done")
    client = browser(staff(brand))

    assert expected_text in text(client.get(address(LABEL, "change", new_replay.pk)))
    page = text(client.get(address("campaigns.campaign", "page", campaign.pk)))
    assert ("the rewards are worth 20.00 EUR" in page) is (price is not None)
    assert ("What the rewards cost is not included" in page) is (price is None)
    support = browser(staff(brand, role="support"))
    for url in (address(LABEL, "change", new_replay.pk), address("campaigns.campaign", "page", campaign.pk)):
        page = support.get(url)
        assert page.status_code == 200
        assert "worth" not in text(page)
        assert "What the rewards cost" not in text(page)


def test_support_cannot_use_the_start_page(brand, draft):
    client = browser(staff(brand, role="support"))

    assert client.get(start_url("rule")).status_code == 403
    assert client.post(start_url("rule"), {"rule": draft.pk, "days": 7}).status_code == 403
    assert not Replay.objects.exists()


@pytest.mark.parametrize("query_fields", [{"kind": "x"}, {"brand": "x"}, {"brand": "9" * 30}, {"brand": "0"}])
def test_start_page_of_an_unknown_kind_or_brand_is_not_found(brand, query_fields):
    assert browser(staff(brand)).get(start_url(**{"kind": "rule", **query_fields})).status_code == 404


def test_start_page_of_another_brand_is_not_found(brand):
    assert browser(staff(brand)).get(start_url("levels", brand=factories.brand().pk)).status_code == 404
