"""The brand switcher: users with several brands view all of them or one, and never another's."""

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
    brands = [factories.brand(name=name) for name in ("Aardvark", "Badger", "Zebra")]
    for brand in brands:
        factories.product(brand, title=f"{brand} lamp")
    return brands


@pytest.fixture
def user(brands: list[Brand]) -> User:
    return staff(*brands[:2])


@pytest.fixture
def client(user: User) -> Client:
    return browser(user)


def choose(client: Client, brand: Any, *, next_url: str = "/admin/") -> Any:
    pk = brand.pk if isinstance(brand, Brand) else brand
    return client.post(reverse("admin:choose_brand"), {"viewed": pk, "next": next_url})


def product_titles(client: Client) -> set[str]:
    return {product.title for product in client.get(address("authcodes.product")).context["cl"].result_list}


def test_all_brands_of_the_user_are_visible_initially(client: Client) -> None:
    assert product_titles(client) == {"Aardvark lamp", "Badger lamp"}


def test_lists_follow_the_chosen_brand(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[1])
    assert product_titles(client) == {"Badger lamp"}

    choose(client, "")
    assert product_titles(client) == {"Aardvark lamp", "Badger lamp"}


def test_lists_have_no_brand_column_with_one_brand_chosen(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[0])

    assert "brand" not in client.get(address("authcodes.product")).context["cl"].list_display


def test_forms_are_prefilled_with_the_chosen_brand(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[1])

    form = client.get(address("authcodes.product", "add")).context["adminform"].form

    assert form["brand"].value() == brands[1].pk
    assert [choice.pk for choice in form.fields["brand"].queryset] == [brands[1].pk]


def test_forms_reject_rows_of_a_brand_that_is_not_chosen(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[1])

    for brand in brands[:2]:
        client.post(address("authcodes.product", "add"), {"brand": brand.pk, "sku": "n", "title": "n"})

    assert [product.brand for product in Product.objects.filter(sku="n")] == [brands[1]]


def test_dashboard_follows_the_chosen_brand(client: Client, brands: list[Brand]) -> None:
    for brand, quantity in zip(brands, (3, 4, 5), strict=True):
        factories.batch(brand, quantity=quantity)

    def first_card() -> str:
        return str(client.get("/admin/").context["home"].funnel[0][0].value)

    assert first_card() == "7"
    choose(client, brands[0])
    assert first_card() == "3"


@pytest.mark.parametrize("invalid_brand", ["x", "-1", "9" * 40, "²", "0"])
def test_invalid_brand_id_changes_nothing(client: Client, brands: list[Brand], invalid_brand: str) -> None:
    choose(client, brands[1])

    assert choose(client, invalid_brand).status_code == 302
    assert product_titles(client) == {"Badger lamp"}


def test_brand_without_a_role_cannot_be_chosen(client: Client, brands: list[Brand]) -> None:
    choose(client, brands[2])

    assert product_titles(client) == {"Aardvark lamp", "Badger lamp"}
    assert "Zebra" not in text(client.get("/admin/"))


def test_choice_ends_when_the_role_is_removed(client: Client, user: User, brands: list[Brand]) -> None:
    choose(client, brands[1])
    StaffRole.objects.filter(user=user, brand=brands[1]).delete()

    assert product_titles(client) == {"Aardvark lamp"}


def test_permissions_follow_the_role_in_the_chosen_brand(brands: list[Brand]) -> None:
    user = staff(brands[0])
    StaffRole.objects.create(user=user, brand=brands[1], role="printer")
    client = browser(user)
    assert client.get(address("brands.apikey")).status_code == 200

    choose(client, brands[1])

    assert client.get(address("brands.apikey")).status_code == 403


def test_switcher_is_visible_only_with_several_brands(brands: list[Brand], client: Client) -> None:
    assert "data-brand-switcher" in text(client.get("/admin/"))
    assert "data-brand-switcher" not in text(browser(staff(brands[0])).get("/admin/"))


def test_superuser_can_view_all_brands_or_one(brands: list[Brand]) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True))
    assert len(product_titles(client)) == 3

    choose(client, brands[2])
    assert product_titles(client) == {"Zebra lamp"}
    assert client.get(address("brands.brand", "add")).status_code == 200
    choose(client, "10000000000")
    assert product_titles(client) == {"Zebra lamp"}


def test_superuser_with_one_brand_chosen_can_add_another(brands: list[Brand]) -> None:
    client = browser(factories.user(is_staff=True, is_superuser=True))
    choose(client, brands[0])
    form = client.get(address("brands.brand", "add")).context["adminform"].form
    initial_values = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    tables = {"hostnames-TOTAL_FORMS": 0, "hostnames-INITIAL_FORMS": 0}

    client.post(
        address("brands.brand", "add"),
        {
            **{name: value for name, value in initial_values.items() if value is not None and value is not False},
            "name": "Yak",
            "slug": "yak",
            "support_email": "help@yak.example.com",
            **tables,
        },
    )

    assert Brand.objects.filter(slug="yak").exists()


@pytest.mark.parametrize(
    ("next_url", "location"),
    [
        ("/admin/authcodes/product/?brand__id__exact=1", "/admin/authcodes/product/"),
        ("/admin/authcodes/product/1/change/", "/admin/authcodes/product/"),
        ("/admin/authcodes/product/add/", "/admin/authcodes/product/"),
        ("/admin/", "/admin/"),
        ("https://elsewhere.example.com/admin/authcodes/product/", "/admin/authcodes/product/"),
        ("https://elsewhere.example.com/", "/admin/"),
        ("//elsewhere.example.com", "/admin/"),
        ("//[", "/admin/"),
        ("javascript:alert(1)", "/admin/"),
        ("/admin/logout/", "/admin/"),
        ("", "/admin/"),
    ],
)
def test_choice_redirects_to_the_same_list_within_the_portal(
    client: Client, brands: list[Brand], next_url: str, location: str
) -> None:
    assert choose(client, brands[0], next_url=next_url)["Location"] == location


def test_brand_cannot_be_chosen_by_get(client: Client) -> None:
    assert client.get(reverse("admin:choose_brand")).status_code == 405


def test_choice_requires_a_login(brands: list[Brand]) -> None:
    response = choose(Client(), brands[0])

    assert response.status_code == 302
    assert response["Location"].startswith(reverse("admin:login"))


def test_choice_is_saved_in_the_session_not_with_the_user(user: User, brands: list[Brand]) -> None:
    first_client, second_client = browser(user), browser(user)

    choose(first_client, brands[0])

    assert product_titles(first_client) == {"Aardvark lamp"}
    assert len(product_titles(second_client)) == 2


def test_brand_scope_can_only_be_narrowed() -> None:
    assert BrandScope(frozenset({1, 2})).narrowed_to(2) == BrandScope(frozenset({2}))
    assert BrandScope(frozenset({1})).narrowed_to(2) == BrandScope()
    assert BrandScope(everywhere=True).narrowed_to(2) == BrandScope(frozenset({2}))
    assert not roles.BrandScope().narrowed_to(2)


# --- The name and logo on the pages ----------------------------------------------------------------------------------


def name_and_logo(page: Any) -> tuple[str, bool]:
    """The name at the top of the sidebar, and whether a brand's logo is next to it."""
    name = text(page).partition('id="site-name"')[2].partition("</a>")[0].rpartition(">")[2].strip()
    return name, "portal-logo" in page.content.decode()


def test_pages_show_name_and_logo_of_the_users_only_brand(brands: list[Brand]) -> None:
    without_logo, with_logo = brands[0], brands[1]
    with_logo.logo = pictures.store(brand=with_logo, encoded=pictures.logo(drawing()))
    with_logo.save()

    assert name_and_logo(browser(staff(without_logo)).get(reverse("admin:index"))) == ("Aardvark", False)
    page = browser(staff(with_logo)).get(address("authcodes.product"))
    assert name_and_logo(page) == ("Badger", True)
    assert f"/pictures/{with_logo.logo_id}/small" in text(page)


def test_pages_show_the_product_name_for_several_brands_and_the_chosen_brands_name(
    client: Client, brands: list[Brand]
) -> None:
    before = name_and_logo(client.get(reverse("admin:index")))
    client.post(reverse("admin:choose_brand"), {"viewed": brands[1].pk})

    assert before == ("Loyalty portal", False)
    assert name_and_logo(client.get(reverse("admin:index"))) == ("Badger", False)


def test_login_page_shows_the_products_mark(db: None) -> None:
    page = text(Client().get(reverse("admin:login")))

    assert "portal-mark" in page
    assert "portal-logo" not in page
