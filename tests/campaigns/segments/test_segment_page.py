"""The page of segments: counting while editing, the age of the counts in the list, and deletion if unused."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from campaigns.segments import limit, preview
from loyalty.models.programme.segments import Segment
from tests.campaigns.earning.earning_rules import row, rule
from tests.campaigns.segments.test_evaluation import evaluate_segment
from tests.support import factories
from tests.support.portal import browser, staff, text

pytestmark = pytest.mark.django_db
SEGMENTS = "/admin/loyalty/segment/"
RICH = {"all": [{"field": "balance", "operator": "at_least", "value": "100"}]}


@pytest.fixture
def manager(brand):
    return browser(staff(brand, role="manager"))


def form_data(brand, conditions, **fields):
    return {"brand": brand.pk, "name": "Rich", "conditions": json.dumps(conditions), **fields}


def test_new_segment_is_saved_and_awaits_its_evaluation(brand, manager):
    answer = manager.post(f"{SEGMENTS}add/", form_data(brand, RICH))

    assert answer.status_code == 302
    segment = Segment.objects.get()
    assert (segment.brand, segment.conditions, segment.evaluated_at) == (brand, RICH, None)
    page = text(manager.get(SEGMENTS))
    assert "Rich" in page
    assert "Within a minute" in page
    assert AuditLogEntry.objects.filter(kind="loyalty.segment").exists()


def test_list_shows_the_member_count_and_its_age(brand, manager, customer):
    segment = factories.segment(brand)
    evaluate_segment(segment)
    Segment.objects.update(evaluated_at=timezone.now() - timedelta(minutes=7), member_count=1234567)

    page = text(manager.get(SEGMENTS))

    assert "1,234,567" in page
    assert "7 minutes ago" in page.replace("\xa0", " ")


def test_changed_conditions_mark_the_segment_for_evaluation(brand, manager):
    segment = factories.segment(brand, name="Rich")
    evaluate_segment(segment)
    answer = manager.post(f"{SEGMENTS}{segment.pk}/change/", form_data(brand, RICH))

    assert answer.status_code == 302
    segment.refresh_from_db()
    assert (segment.conditions, segment.plan_fingerprint) == (RICH, "")
    assert segment.member_count == 0  # as it was evaluated last


INVALID_CONDITIONS = {
    "no json": ("{", "The rows could not be read. Reload the page."),
    "a wrong type": (json.dumps({"all": [row("balance", "at_least", "much")]}), "Write a number, such as 49.90."),
    "a level that is gone": (json.dumps({"all": [row("level", "in", ["Platinum"])]}), "There is no level “platinum”"),
    "a contradiction": (
        json.dumps({"all": [row("balance", "at_least", 9), row("balance", "at_most", 8)]}),
        "contradict each other",
    ),
}


@pytest.mark.parametrize(("conditions", "message"), INVALID_CONDITIONS.values(), ids=list(INVALID_CONDITIONS))
def test_invalid_conditions_are_rejected_on_save_and_while_editing(brand, manager, conditions, message):
    saved = manager.post(f"{SEGMENTS}add/", {"brand": brand.pk, "name": "x", "conditions": conditions})
    read = manager.post(f"{SEGMENTS}read/", {"brand": brand.pk, "conditions": conditions})

    assert saved.status_code == 200
    assert message in text(saved)
    assert not Segment.objects.exists()
    assert message in " ".join(read.json()["notes"])
    assert read.json()["count"] == ""


def test_segment_names_are_unique_within_a_brand(brand, manager):
    factories.segment(brand, name="Rich")
    factories.segment(factories.brand(), name="Poor")

    assert "A segment with this name already exists." in text(manager.post(f"{SEGMENTS}add/", form_data(brand, RICH)))
    assert manager.post(f"{SEGMENTS}add/", form_data(brand, RICH, name="Poor")).status_code == 302


def test_number_of_segments_is_limited(brand, manager, monkeypatch):
    monkeypatch.setattr(limit, "MAX_SEGMENTS", 1)
    factories.segment(brand)

    assert "A brand has at most 1 segments." in text(manager.post(f"{SEGMENTS}add/", form_data(brand, RICH)))


def test_editor_shows_the_count_and_a_sample_of_members(brand, manager, customer):
    rich = factories.customer(brand)
    factories.points(rich, brand, 100)

    answer = manager.post(f"{SEGMENTS}read/", form_data(brand, RICH)).json()

    assert answer["sentence"] == "Members for whom this is true: points on the balance is at least 100."
    assert answer["count"] == "1 member"
    [[address, link]] = answer["sample"]
    assert address == rich.email != customer.email
    assert link == f"/admin/loyalty/userpoints/{factories.account(rich, brand).pk}/change/"


@pytest.mark.usefixtures("customer")
def test_slow_count_is_left_to_the_evaluation(brand, manager, monkeypatch):
    statement = preview.COUNT_MEMBERS.replace("count(*)", "count(*) + (SELECT count(*) FROM pg_sleep(5))", 1)
    slow = "SET LOCAL statement_timeout = 400"
    monkeypatch.setattr(preview, "COUNT_MEMBERS", statement)
    with connection.cursor() as cursor:
        cursor.execute(slow)
    answer = manager.post(f"{SEGMENTS}read/", form_data(brand, RICH))

    assert answer.json()["count"].startswith("Counting takes too long for this page.")


def test_rows_of_another_brand_are_never_counted_offered_or_listed(brand, manager):
    other = factories.brand()
    foreign = factories.segment(other, name="Foreign")
    product = factories.product(other, title="Foreign serum")
    choices = f"{SEGMENTS}choices/?name=products&brand="

    assert manager.post(f"{SEGMENTS}read/", form_data(other, {})).status_code == 404
    assert manager.get(f"{choices}{other.pk}&q=").status_code == 404
    assert manager.get(f"{choices}{brand.pk}&ids={product.pk}").json() == {"options": []}
    assert manager.get(f"{choices}{brand.pk}&q=").json() == {"options": []}
    assert "Foreign" not in text(manager.get(SEGMENTS))
    assert manager.get(f"{SEGMENTS}{foreign.pk}/change/").status_code == 404
    filtered_page = text(manager.get(f"/admin/loyalty/userpoints/?segment={foreign.pk}", follow=True))
    assert "You do not have access to one of the filters" in filtered_page


@pytest.mark.parametrize("path", ["read/", "choices/?name=products", "choices/?name=batches", "choices/?brand=٣"])
def test_invalid_requests_are_not_found(manager, path):
    assert manager.get(SEGMENTS + path).status_code in {404, 405}
    assert manager.post(SEGMENTS + path, {"brand": "x"}).status_code in {404, 405}


def test_support_can_read_but_not_edit_segments(brand):
    segment = factories.segment(brand, ("balance", "at_least", 100))
    support = browser(staff(brand, role="support"))

    page = support.get(f"{SEGMENTS}{segment.pk}/change/")

    assert "points on the balance is at least 100" in text(page)
    assert "rule-vocabulary" not in page.content.decode()
    assert support.post(f"{SEGMENTS}read/", form_data(brand, RICH)).status_code == 404
    assert browser(staff(brand, role="printer")).get(SEGMENTS).status_code == 403


def test_members_can_be_listed_by_segment(brand, manager, customer):
    rich = factories.customer(brand)
    factories.points(rich, brand, 100)
    segment = factories.segment(brand, ("balance", "at_least", 100))
    evaluate_segment(segment)

    answer = manager.get(f"{SEGMENTS}{segment.pk}/members/", follow=True)

    assert rich.email in text(answer)
    assert customer.email not in text(answer)


def test_segment_in_use_cannot_be_deleted(brand, manager):
    segment = factories.segment(brand, name="Rich")
    new_rule = rule(brand, all_of=[row("segment", "in", [segment.pk])], name="For the rich")
    delete_url = f"{SEGMENTS}{segment.pk}/delete/"

    assert "For the rich" in text(manager.get(delete_url))
    manager.post(delete_url, {"post": "yes"})
    assert Segment.objects.exists()
    new_rule.delete()
    evaluate_segment(segment)
    assert manager.post(delete_url, {"post": "yes"}).status_code == 302
    assert not Segment.objects.exists()
