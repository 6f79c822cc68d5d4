"""Staff find their own brand's customers by parts of their address and name."""

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
def test_member_is_found_by_the_beginning_of_any_word(client: Client, brand: Brand, typed: str) -> None:
    ann = factories.customer(brand, **ANN)
    factories.customer(brand, email="bob@other.test", first_name="Bob", last_name="Stone")

    assert [row.user for row in listed(client, MEMBERS, typed)] == [ann]


@pytest.mark.parametrize("typed", ["%", "_", "a_n", "\\", "zoe", "ann zoe", "''", "@"])
def test_other_texts_find_no_member(client: Client, brand: Brand, typed: str) -> None:
    factories.customer(brand, **ANN)

    assert listed(client, MEMBERS, typed) == []


def test_brand_finds_a_member_by_its_own_name_for_them(client: Client, brand: Brand) -> None:
    ann, other = factories.customer(brand, **ANN), factories.brand()
    accounts.enrol(user_id=ann.pk, brand_id=other.pk, at=timezone.now())
    account, other_account = factories.account(ann, brand), factories.account(ann, other)

    accounts.set_names(account=account, first_name="Annabel", last_name="Stone", at=timezone.now())

    assert [row.user for row in listed(client, MEMBERS, "annabel stone")] == [ann]
    assert listed(client, MEMBERS, "brien") == []
    assert [row.pk for row in listed(browser(staff(other)), MEMBERS, "brien")] == [other_account.pk]
    assert listed(browser(staff(other)), MEMBERS, "stone") == []


def test_complete_address_finds_only_its_member(client: Client, brand: Brand) -> None:
    ann = factories.customer(brand, email="ann@example.com")
    factories.customer(brand, email="example@ann.com")

    assert [row.user for row in listed(client, MEMBERS, "Ann@Example.com")] == [ann]
    assert len(listed(client, MEMBERS, "ann@exam")) == 2


@pytest.mark.parametrize("label", ["loyalty.loyaltytransaction", "loyalty.redemption", "authcodes.scan"])
def test_other_lists_are_searched_by_customer(client: Client, brand: Brand, label: str) -> None:
    ann, bob = factories.customer(brand, **ANN), factories.customer(brand, first_name="Bob")
    for customer in (ann, bob):
        factories.points(customer, brand, 100)
        factories.redemption(customer, factories.reward(brand))
        scan(factories.code(brand), user=customer)

    for typed in ("ann.mil", "müller ann", "ann.miller@example.com"):
        rows = listed(client, label, typed)
        assert rows, typed
        assert {row.user if label == "authcodes.scan" else row.user_point.user for row in rows} == {ann}
    assert len(listed(client, "authcodes.authcode", "mülle")) == 1


def test_search_box_finds_members_by_name(client: Client, brand: Brand) -> None:
    factories.customer(brand, **ANN)

    results = client.get(reverse("admin:search"), {"extended": "1", "s": "müll"}).context["results"]

    assert [result.link.startswith(address(MEMBERS)) for result in results] == [True]


def test_customers_of_another_brand_are_not_found(client: Client, brand: Brand) -> None:
    other = factories.brand()
    ann = factories.customer(other, **ANN)
    factories.points(ann, other, 5)
    scan(factories.code(other), user=ann)
    foreign = factories.code(brand)
    scan(foreign, user=ann)  # another brand's customer stays anonymous in this brand's list

    for typed in ("ann", "müller", ANN["email"]):
        for label in (MEMBERS, "loyalty.loyaltytransaction", "authcodes.scan"):
            assert listed(client, label, typed) == [], (label, typed)
        assert client.get(reverse("admin:search"), {"extended": "1", "s": typed}).context["results"] == []


def test_row_level_security_hides_search_terms_of_other_brands(brand: Brand) -> None:
    other = factories.brand()
    factories.customer(other, **ANN)

    with row_guard.within([brand.pk]):
        assert CustomerWord.objects.count() == 0
        assert customer_search.find("ann", [other.pk]) == []


def search_terms_of(user: User, brand: Brand) -> set[str]:
    return set(CustomerWord.objects.filter(user=user, brand=brand).values_list("word", flat=True))


def test_search_terms_follow_names_addresses_and_enrolments(brand: Brand) -> None:
    other = factories.brand()
    ann = factories.customer(brand, email="ann@example.com", first_name="Ann", last_name="Straße")
    accounts.enrol(user_id=ann.pk, brand_id=other.pk, at=timezone.now())
    with row_guard.within([brand.pk]):
        User.objects.filter(pk=ann.pk).update(last_name="Ångström")
    User.objects.filter(pk=ann.pk).update(email="new@example.org")

    for each in (brand, other):
        assert search_terms_of(ann, each) == {"new", "example", "org", "ann", "angstrom"}


def test_search_terms_of_an_erased_customer_are_deleted(brand: Brand) -> None:
    other = factories.brand()
    ann, both = factories.customer(brand, **ANN), factories.customer(brand, email="both@here.test")
    accounts.enrol(user_id=both.pk, brand_id=other.pk, at=timezone.now())

    for customer in (ann, both):
        erasure.erase(
            user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now(), reason="wish")
        )

    remaining = set(CustomerWord.objects.filter(brand=brand).values_list("word", flat=True))
    assert not remaining & {"ann", "miller", "muller", "both", "here"}
    assert search_terms_of(both, other) == {"both", "here", "test"}


@pytest.mark.parametrize(("typed", "status"), [("x" * 201, 200), ("x" * 10_000, 200), ("an\0n", 400), ("an\nn", 200)])
def test_unsearchable_text_is_rejected_with_a_message(client: Client, brand: Brand, typed: str, status: int) -> None:
    factories.customer(brand, **ANN)

    with pytest.raises(Invalid):
        customer_search.find(typed, [brand.pk])
    answer = client.get(address("loyalty.redemption"), {"q": typed}, follow=True)
    assert answer.status_code == status
    if status == 200:
        assert list(answer.context["messages"])


def test_too_many_matches_are_rejected_except_in_the_list_of_members(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(customer_search, "MAX_MATCHES", 2)
    for number in range(3):
        factories.customer(brand, email=f"{number}@example.com")

    assert len(listed(client, MEMBERS, "example")) == 3
    answer = client.get(address("loyalty.redemption"), {"q": "example"})
    assert ["Type more" in str(message) for message in answer.context["messages"]] == [True]


def test_number_of_statements_does_not_grow_with_members(client: Client, brand: Brand) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert listed(client, MEMBERS, "ann")
        return len(queries)

    factories.customer(brand, **ANN)
    few = statements()
    for number in range(20):
        factories.customer(brand, email=f"ann{number}@example.com")

    assert statements() == few


def test_search_terms_are_read_from_an_index(brand: Brand) -> None:
    """The policies of the portal's database role prevent LIKE from using indexes."""
    with transaction.atomic(), row_guard.within([brand.pk]):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        plan = customer_search.matching("ann", [brand.pk])[:10].explain()

    assert "customer_word_once" in plan
    assert "word >= 'ann'" in plan.split("Index Cond")[1].splitlines()[0]
