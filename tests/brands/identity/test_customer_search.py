"""Customers are found by parts of their address and name, among those of the brand alone."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.identity import customer_search
from brands.models.customer_word import CustomerWord
from brands.models.people import User
from brands.models.tenants import Brand
from core.db import row_guard
from core.errors import Invalid
from loyalty.members import erasure
from loyalty.points import accounts
from tests.support import factories
from tests.support.portal import address, browser, scan, staff

pytestmark = pytest.mark.django_db
MEMBERS = "loyalty.userpoints"
ANN = {"email": "ann.miller@example.com", "first_name": "Änn", "last_name": "O'Brien-Müller"}


@pytest.fixture
def client(brand: Brand) -> Client:
    return browser(staff(brand))


def listed(client: Client, label: str, typed: str) -> list[Any]:
    return list(client.get(address(label), {"q": typed}).context["cl"].result_list)


@pytest.mark.parametrize(
    "typed",
    ["ann", "ANN", "mil", "miller@exa", "ann.miller@example.com", "Änn", "muller", "müll", "brien", "o'br", "ann mull"],
)
def test_a_member_is_found_by_the_beginning_of_any_word(client: Client, brand: Brand, typed: str) -> None:
    ann = factories.customer(brand, **ANN)
    factories.customer(brand, email="bob@other.test", first_name="Bob", last_name="Stone")

    assert [row.user for row in listed(client, MEMBERS, typed)] == [ann]


@pytest.mark.parametrize("typed", ["%", "_", "a_n", "\\", "zoe", "ann zoe", "''", "@"])
def test_other_texts_find_nobody(client: Client, brand: Brand, typed: str) -> None:
    factories.customer(brand, **ANN)

    assert listed(client, MEMBERS, typed) == []


def test_a_brand_finds_a_member_by_the_name_that_it_calls_them(client: Client, brand: Brand) -> None:
    ann, other = factories.customer(brand, **ANN), factories.brand()
    accounts.enrol(user_id=ann.pk, brand_id=other.pk, at=timezone.now())
    account, other_account = factories.account(ann, brand), factories.account(ann, other)

    accounts.set_names(account=account, first_name="Annabel", last_name="Stone", at=timezone.now())

    assert [row.user for row in listed(client, MEMBERS, "annabel stone")] == [ann]
    assert listed(client, MEMBERS, "brien") == []
    assert [row.pk for row in listed(browser(staff(other)), MEMBERS, "brien")] == [other_account.pk]
    assert listed(browser(staff(other)), MEMBERS, "stone") == []


def test_a_whole_address_means_whoever_has_it(client: Client, brand: Brand) -> None:
    ann = factories.customer(brand, email="ann@example.com")
    factories.customer(brand, email="example@ann.com")

    assert [row.user for row in listed(client, MEMBERS, "Ann@Example.com")] == [ann]
    assert len(listed(client, MEMBERS, "ann@exam")) == 2


@pytest.mark.parametrize("label", ["loyalty.loyaltytransaction", "loyalty.redemption", "authcodes.scan"])
def test_other_lists_find_by_customer(client: Client, brand: Brand, label: str) -> None:
    ann, bob = factories.customer(brand, **ANN), factories.customer(brand, first_name="Bob")
    for person in (ann, bob):
        factories.points(person, brand, 100)
        factories.redemption(person, factories.reward(brand))
        scan(factories.code(brand), user=person)

    for typed in ("ann.mil", "müller ann", "ann.miller@example.com"):
        found = listed(client, label, typed)
        assert found, typed
        assert {row.user if label == "authcodes.scan" else row.user_point.user for row in found} == {ann}
    assert len(listed(client, "authcodes.authcode", "mülle")) == 1


def test_the_search_box_finds_members_by_name(client: Client, brand: Brand) -> None:
    factories.customer(brand, **ANN)

    results = client.get(reverse("admin:search"), {"extended": "1", "s": "müll"}).context["results"]

    assert [result.link.startswith(address(MEMBERS)) for result in results] == [True]


def test_nobody_finds_customers_of_another_brand(client: Client, brand: Brand) -> None:
    other = factories.brand()
    ann = factories.customer(other, **ANN)
    factories.points(ann, other, 5)
    scan(factories.code(other), user=ann)
    foreign = factories.code(brand)
    scan(foreign, user=ann)  # another brand's customer in this brand's list stays nobody

    for typed in ("ann", "müller", ANN["email"]):
        for label in (MEMBERS, "loyalty.loyaltytransaction", "authcodes.scan"):
            assert listed(client, label, typed) == [], (label, typed)
        assert client.get(reverse("admin:search"), {"extended": "1", "s": typed}).context["results"] == []


def test_the_database_shows_no_word_of_another_brand(brand: Brand) -> None:
    other = factories.brand()
    factories.customer(other, **ANN)

    with row_guard.within([brand.pk]):
        assert CustomerWord.objects.count() == 0
        assert customer_search.find("ann", [other.pk]) == []


def search_words_of(user: User, brand: Brand) -> set[str]:
    return set(CustomerWord.objects.filter(user=user, brand=brand).values_list("word", flat=True))


def test_words_follow_names_addresses_and_membership(brand: Brand) -> None:
    other = factories.brand()
    ann = factories.customer(brand, email="ann@example.com", first_name="Ann", last_name="Straße")
    accounts.enrol(user_id=ann.pk, brand_id=other.pk, at=timezone.now())
    with row_guard.within([brand.pk]):
        User.objects.filter(pk=ann.pk).update(last_name="Ångström")
    User.objects.filter(pk=ann.pk).update(email="new@example.org")

    for each in (brand, other):
        assert search_words_of(ann, each) == {"new", "example", "org", "ann", "angstrom"}


def test_no_word_of_an_erased_person_is_left(brand: Brand) -> None:
    other = factories.brand()
    ann, both = factories.customer(brand, **ANN), factories.customer(brand, email="both@here.test")
    accounts.enrol(user_id=both.pk, brand_id=other.pk, at=timezone.now())

    for person in (ann, both):
        erasure.erase(
            user_id=person.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now(), reason="wish")
        )

    left = set(CustomerWord.objects.filter(brand=brand).values_list("word", flat=True))
    assert not left & {"ann", "miller", "muller", "both", "here"}
    assert search_words_of(both, other) == {"both", "here", "test"}


@pytest.mark.parametrize(("typed", "status"), [("x" * 201, 200), ("x" * 10_000, 200), ("an\0n", 400), ("an\nn", 200)])
def test_what_nobody_is_called_is_refused_in_words(client: Client, brand: Brand, typed: str, status: int) -> None:
    factories.customer(brand, **ANN)

    with pytest.raises(Invalid):
        customer_search.find(typed, [brand.pk])
    answer = client.get(address("loyalty.redemption"), {"q": typed}, follow=True)
    assert answer.status_code == status
    if status == 200:
        assert list(answer.context["messages"])


def test_too_many_customers_are_refused_in_words_but_listed_as_members(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(customer_search, "MAX_MATCHES", 2)
    for number in range(3):
        factories.customer(brand, email=f"{number}@example.com")

    assert len(listed(client, MEMBERS, "example")) == 3
    answer = client.get(address("loyalty.redemption"), {"q": "example"})
    assert ["Type more" in str(message) for message in answer.context["messages"]] == [True]


def test_statements_do_not_grow_with_members(client: Client, brand: Brand) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert listed(client, MEMBERS, "ann")
        return len(queries)

    factories.customer(brand, **ANN)
    few = statements()
    for number in range(20):
        factories.customer(brand, email=f"ann{number}@example.com")

    assert statements() == few


def test_words_are_read_from_an_index(brand: Brand) -> None:
    """Under the role that the portal reads with, whose policies keep LIKE away from indexes."""
    with transaction.atomic(), row_guard.within([brand.pk]):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        plan = customer_search.matching("ann", [brand.pk])[:10].explain()

    assert "customer_word_once" in plan
    assert "word >= 'ann'" in plan.split("Index Cond")[1].splitlines()[0]
