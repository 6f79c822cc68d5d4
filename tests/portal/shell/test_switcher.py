"""The brand switcher: people with several brands look at all of them or at one, and never at anybody else's."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from authcodes.models.products import Product
from brands.identity import roles
from brands.identity.roles import BrandScope
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from brands.tenants import pictures
from tests.brands.tenants.test_pictures import drawing
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def brands(db: None) -> list[Brand]:
    made = [factories.brand(name=name) for name in ("Aardvark", "Badger", "Zebra")]
    for brand in made:
        factories.product(brand, title=f"{brand} lamp")
    return made


@pytest.fixture
def person(brands: list[Brand]) -> User:
    return staff(*brands[:2])


@pytest.fixture
def client(person: User) -> Client:
    return browser(person)


def choose(client: Client, brand: Any, *, coming_from: str = "/admin/") -> Any:
    pk = brand.pk if isinstance(brand, Brand) else brand
    return client.post(reverse("admin:choose_brand"), {"viewed": pk, "next": coming_from})


def products(client: Client) -> set[str]:
    return {product.title for product in client.get(address("authcodes.product")).context["cl"].result_list}


def test_all_ones_brands_are_seen_at_first(client: Client) -> None:
    assert products(client) == {"Aardvark lamp", "Badger lamp"}


def test_lists_follow_the_choice_and_its_end(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[1])
    assert products(client) == {"Badger lamp"}

    choose(client, "")
    assert products(client) == {"Aardvark lamp", "Badger lamp"}


def test_with_one_brand_chosen_lists_need_no_brand_column(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[0])

    assert "brand" not in client.get(address("authcodes.product")).context["cl"].list_display


def test_forms_begin_with_the_chosen_brand(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[1])

    form = client.get(address("authcodes.product", "add")).context["adminform"].form

    assert form["brand"].value() == brands[1].pk
    assert [choice.pk for choice in form.fields["brand"].queryset] == [brands[1].pk]


def test_forms_take_no_row_of_a_brand_that_is_not_looked_at(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[1])

    client.post(address("authcodes.product", "add"), {"brand": brands[0].pk, "sku": "n", "title": "n"})

    assert not Product.objects.filter(sku="n").exists()


def test_dashboard_follows_the_choice(client: Client, brands: list[Brand]) -> None:
    for brand, quantity in zip(brands, (3, 4, 5), strict=True):
        factories.batch(brand, quantity=quantity)

    def first_card() -> str:
        return str(client.get("/admin/").context["home"].funnel[0][0].value)

    assert first_card() == "7"
    choose(client, brands[0])
    assert first_card() == "3"


@pytest.mark.parametrize("nonsense", ["x", "-1", "9" * 40, "²", "0"])
def test_what_is_no_brand_changes_nothing(client: Client, brands: list[Brand], nonsense: str) -> None:
    choose(client, brands[1])

    assert choose(client, nonsense).status_code == 302
    assert products(client) == {"Badger lamp"}


def test_nobody_elses_brand_can_be_chosen(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[2])

    assert products(client) == {"Aardvark lamp", "Badger lamp"}
    assert "Zebra" not in text(client.get("/admin/"))


def test_choice_ends_with_the_role(client: Client, person: User, brands: list[Brand]) -> None:
    choose(client, brands[1])
    StaffRole.objects.filter(user=person, brand=brands[1]).delete()

    assert products(client) == {"Aardvark lamp"}


def test_role_that_counts_is_the_one_in_the_chosen_brand(brands: list[Brand]) -> None:
    person = staff(brands[0])
    StaffRole.objects.create(user=person, brand=brands[1], role="printer")
    client = browser(person)
    assert client.get(address("brands.apikey")).status_code == 200

    choose(client, brands[1])

    assert client.get(address("brands.apikey")).status_code == 403


def test_only_those_with_several_brands_are_asked(brands: list[Brand], client: Client) -> None:
    assert "data-brand-switcher" in text(client.get("/admin/"))
    assert "data-brand-switcher" not in text(browser(staff(brands[0])).get("/admin/"))


def test_superuser_sees_all_or_one(brands: list[Brand]) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True))
    assert len(products(client)) == 3

    choose(client, brands[2])
    assert products(client) == {"Zebra lamp"}
    assert client.get(address("brands.brand", "add")).status_code == 200
    choose(client, "10000000000")
    assert products(client) == {"Zebra lamp"}


def test_superuser_who_looks_at_one_brand_can_still_add_another(brands: list[Brand]) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True))
    choose(client, brands[0])
    form = client.get(address("brands.brand", "add")).context["adminform"].form
    offered = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    tables = {"hostnames-TOTAL_FORMS": 0, "hostnames-INITIAL_FORMS": 0}

    client.post(
        address("brands.brand", "add"),
        {
            **{name: value for name, value in offered.items() if value is not None and value is not False},
            "name": "Yak",
            "slug": "yak",
            "support_email": "help@yak.example.com",
            **tables,
        },
    )

    assert Brand.objects.filter(slug="yak").exists()


@pytest.mark.parametrize(
    ("coming_from", "going_to"),
    [
        ("/admin/authcodes/product/?brand__id__exact=1", "/admin/authcodes/product/"),
        ("/admin/authcodes/product/1/change/", "/admin/authcodes/product/"),
        ("/admin/authcodes/product/add/", "/admin/authcodes/product/"),
        ("/admin/", "/admin/"),
        ("https://elsewhere.example.com/admin/authcodes/product/", "/admin/authcodes/product/"),
        ("https://elsewhere.example.com/", "/admin/"),
        ("//elsewhere.example.com", "/admin/"),
        ("javascript:alert(1)", "/admin/"),
        ("/admin/logout/", "/admin/"),
        ("", "/admin/"),
    ],
)
def test_one_goes_on_with_the_same_list_and_never_elsewhere(
    client: Client, brands: list[Brand], coming_from: str, going_to: str
) -> None:
    assert choose(client, brands[0], coming_from=coming_from)["Location"] == going_to


def test_looking_at_the_address_changes_nothing(client: Client) -> None:
    assert client.get(reverse("admin:choose_brand")).status_code == 405


def test_choice_is_for_those_who_are_logged_in(brands: list[Brand]) -> None:
    answer = choose(Client(), brands[0])

    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("admin:login"))


def test_choice_is_kept_in_the_session_not_in_the_person(person: User, brands: list[Brand]) -> None:
    here, there = browser(person), browser(person)

    choose(here, brands[0])

    assert products(here) == {"Aardvark lamp"}
    assert len(products(there)) == 2


def test_reach_is_narrowed_to_what_was_within_it() -> None:
    assert BrandScope(frozenset({1, 2})).narrowed_to(2) == BrandScope(frozenset({2}))
    assert BrandScope(frozenset({1})).narrowed_to(2) == BrandScope()
    assert BrandScope(everywhere=True).narrowed_to(2) == BrandScope(frozenset({2}))
    assert not roles.BrandScope().narrowed_to(2)


# --- Whose name and logo the pages bear ------------------------------------------------------------------------------


def bearing(page: Any) -> tuple[str, bool]:
    """The name at the top of the sidebar, and whether a logo of a brand stands beside it."""
    name = text(page).partition('id="site-name"')[2].partition("</a>")[0].rpartition(">")[2].strip()
    return name, "portal-logo" in page.content.decode()


def test_who_works_for_one_brand_sees_its_name_and_logo(brands: list[Brand]) -> None:
    plain, shown = brands[0], brands[1]
    shown.logo = pictures.store(brand=shown, drawn=pictures.logo(drawing()))
    shown.save()

    assert bearing(browser(staff(plain)).get(reverse("admin:index"))) == ("Aardvark", False)
    page = browser(staff(shown)).get(address("authcodes.product"))
    assert bearing(page) == ("Badger", True)
    assert f"/pictures/{shown.logo_id}/small" in text(page)


def test_who_looks_at_several_sees_the_product_and_at_one_that_brand(client: Client, brands: list[Brand]) -> None:
    before = bearing(client.get(reverse("admin:index")))
    client.post(reverse("admin:choose_brand"), {"viewed": brands[1].pk})

    assert before == ("Loyalty portal", False)
    assert bearing(client.get(reverse("admin:index"))) == ("Badger", False)


def test_the_login_bears_the_products_mark(db: None) -> None:
    page = text(Client().get(reverse("admin:login")))

    assert "portal-mark" in page
    assert "portal-logo" not in page
