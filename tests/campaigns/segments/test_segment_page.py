"""The page of segments: counted while edited, listed with their age, deleted unless something asks for them."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from campaigns.segments import limit, preview
from loyalty.models.programme.segments import Segment
from tests.campaigns.earning.earning_rules import row, rule
from tests.campaigns.segments.test_evaluation import evaluated
from tests.support import factories
from tests.support.portal import browser, staff, text

pytestmark = pytest.mark.django_db
SEGMENTS = "/admin/loyalty/segment/"
RICH = {"all": [{"field": "balance", "operator": "at_least", "value": "100"}]}


@pytest.fixture
def manager(brand):
    return browser(staff(brand, role="manager"))


def posted(brand, conditions, **fields):
    return {"brand": brand.pk, "name": "Rich", "conditions": json.dumps(conditions), **fields}


def test_a_segment_is_made_and_evaluated_within_a_minute(brand, manager):
    answer = manager.post(f"{SEGMENTS}add/", posted(brand, RICH))

    assert answer.status_code == 302
    made = Segment.objects.get()
    assert (made.brand, made.conditions, made.evaluated_at) == (brand, RICH, None)
    page = text(manager.get(SEGMENTS))
    assert "Rich" in page
    assert "Within a minute" in page
    assert AuditLogEntry.objects.filter(kind="loyalty.segment").exists()


def test_the_list_says_how_many_members_and_how_old_that_is(brand, manager, customer):
    segment = factories.segment(brand)
    evaluated(segment)
    Segment.objects.update(evaluated_at=timezone.now() - timedelta(minutes=7), member_count=1234567)

    page = text(manager.get(SEGMENTS))

    assert "1,234,567" in page
    assert "7 minutes ago" in page.replace("\xa0", " ")


def test_other_conditions_are_evaluated_soon(brand, manager):
    segment = factories.segment(brand, name="Rich")
    evaluated(segment)
    answer = manager.post(f"{SEGMENTS}{segment.pk}/change/", posted(brand, RICH))

    assert answer.status_code == 302
    segment.refresh_from_db()
    assert (segment.conditions, segment.plan_fingerprint) == (RICH, "")
    assert segment.member_count == 0  # as it was evaluated last


REFUSED = {
    "no json": ("{", "The rows could not be read. Reload the page."),
    "a wrong type": (json.dumps({"all": [row("balance", "at_least", "much")]}), "Write a number, such as 49.90."),
    "a level that is gone": (json.dumps({"all": [row("level", "in", ["Platinum"])]}), "There is no level “platinum”"),
    "a contradiction": (
        json.dumps({"all": [row("balance", "at_least", 9), row("balance", "at_most", 8)]}),
        "contradict each other",
    ),
}


@pytest.mark.parametrize(("conditions", "message"), REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_is_refused_in_the_form_and_while_it_is_edited(brand, manager, conditions, message):
    saved = manager.post(f"{SEGMENTS}add/", {"brand": brand.pk, "name": "x", "conditions": conditions})
    read = manager.post(f"{SEGMENTS}read/", {"brand": brand.pk, "conditions": conditions})

    assert saved.status_code == 200
    assert message in text(saved)
    assert not Segment.objects.exists()
    assert message in " ".join(read.json()["notes"])
    assert read.json()["count"] == ""


def test_a_name_is_a_segment_s_own_in_its_brand(brand, manager):
    factories.segment(brand, name="Rich")
    factories.segment(factories.brand(), name="Poor")

    assert "A segment with this name already exists." in text(manager.post(f"{SEGMENTS}add/", posted(brand, RICH)))
    assert manager.post(f"{SEGMENTS}add/", posted(brand, RICH, name="Poor")).status_code == 302


def test_a_brand_has_so_many_segments_at_most(brand, manager, monkeypatch):
    monkeypatch.setattr(limit, "MAX_SEGMENTS", 1)
    factories.segment(brand)

    assert "A brand has at most 1 segments." in text(manager.post(f"{SEGMENTS}add/", posted(brand, RICH)))


def test_who_edits_sees_how_many_fit_and_some_of_them(brand, manager, customer):
    rich = factories.customer(brand)
    factories.points(rich, brand, 100)

    answer = manager.post(f"{SEGMENTS}read/", posted(brand, RICH)).json()

    assert answer["sentence"] == "Members for whom this is true: points on the balance is at least 100."
    assert answer["count"] == "1 member"
    [[address, link]] = answer["sample"]
    assert address == rich.email != customer.email
    assert link == f"/admin/loyalty/userpoints/{factories.account(rich, brand).pk}/change/"


@pytest.mark.usefixtures("customer")
def test_a_count_that_takes_too_long_is_left_to_the_evaluation(brand, manager, monkeypatch):
    statement = preview.COUNT_MEMBERS.replace("count(*)", "count(*) + (SELECT count(*) FROM pg_sleep(5))", 1)
    slow = "SET LOCAL statement_timeout = 400"
    monkeypatch.setattr(preview, "COUNT_MEMBERS", statement)
    with connection.cursor() as cursor:
        cursor.execute(slow)
    answer = manager.post(f"{SEGMENTS}read/", posted(brand, RICH))

    assert answer.json()["count"].startswith("Counting takes too long for this page.")


def test_nothing_of_another_brand_is_counted_offered_or_listed(brand, manager):
    other = factories.brand()
    foreign = factories.segment(other, name="Foreign")
    product = factories.product(other, title="Foreign serum")
    choices = f"{SEGMENTS}choices/?name=products&brand="

    assert manager.post(f"{SEGMENTS}read/", posted(other, {})).status_code == 404
    assert manager.get(f"{choices}{other.pk}&q=").status_code == 404
    assert manager.get(f"{choices}{brand.pk}&ids={product.pk}").json() == {"options": []}
    assert manager.get(f"{choices}{brand.pk}&q=").json() == {"options": []}
    assert "Foreign" not in text(manager.get(SEGMENTS))
    assert manager.get(f"{SEGMENTS}{foreign.pk}/change/").status_code == 404
    refused = text(manager.get(f"/admin/loyalty/userpoints/?segment={foreign.pk}", follow=True))
    assert "You do not have access to one of the filters" in refused


@pytest.mark.parametrize("path", ["read/", "choices/?name=products", "choices/?name=batches", "choices/?brand=٣"])
def test_what_is_asked_wrongly_is_not_there(manager, path):
    assert manager.get(SEGMENTS + path).status_code in {404, 405}
    assert manager.post(SEGMENTS + path, {"brand": "x"}).status_code in {404, 405}


def test_support_reads_the_sentence_and_edits_nothing(brand):
    segment = factories.segment(brand, ("balance", "at_least", 100))
    support = browser(staff(brand, role="support"))

    page = support.get(f"{SEGMENTS}{segment.pk}/change/")

    assert "points on the balance is at least 100" in text(page)
    assert "rule-vocabulary" not in page.content.decode()
    assert support.post(f"{SEGMENTS}read/", posted(brand, RICH)).status_code == 404
    assert browser(staff(brand, role="printer")).get(SEGMENTS).status_code == 403


def test_the_members_are_listed_by_segment(brand, manager, customer):
    rich = factories.customer(brand)
    factories.points(rich, brand, 100)
    segment = factories.segment(brand, ("balance", "at_least", 100))
    evaluated(segment)

    answer = manager.get(f"{SEGMENTS}{segment.pk}/members/", follow=True)

    assert rich.email in text(answer)
    assert customer.email not in text(answer)


def test_a_segment_in_use_is_not_deleted(brand, manager):
    segment = factories.segment(brand, name="Rich")
    made = rule(brand, all_of=[row("segment", "in", [segment.pk])], name="For the rich")
    deletes = f"{SEGMENTS}{segment.pk}/delete/"

    assert "For the rich" in text(manager.get(deletes))
    manager.post(deletes, {"post": "yes"})
    assert Segment.objects.exists()
    made.delete()
    evaluated(segment)
    assert manager.post(deletes, {"post": "yes"}).status_code == 302
    assert not Segment.objects.exists()
