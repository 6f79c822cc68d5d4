"""Saved lists: a list's filters under a name, of one brand, opened with the permissions of the opening user."""

from urllib.parse import urlencode

import pytest
from django.contrib import admin, messages
from django.utils import timezone

from brands import personal_data
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole
from brands.models.saved_lists import SavedList
from brands.user_mentions import Mentions
from jobs import kinds
from portal.base.tenant_admin import TenantAdmin
from portal.pages import saved_lists as saved_lists_page
from portal.saved_lists import queries
from tests.support import factories
from tests.support.portal import address, browser, errors, staff, text

ADD = "/admin/brands/savedlist/add/"
CODES = "authcodes.authcode"


@pytest.fixture
def owner(brand):
    return staff(brand, email="owner@example.com")


def save(user, brand, *, label=CODES, query="status=unscanned", name="Live codes", **fields):
    form_data = {"brand": brand.pk, "name": name, "list": label, "address": query, **fields}
    return browser(user).post(ADD, form_data)


def saved_list(owner, brand, **fields):
    defaults = {"name": "Live codes", "model_label": CODES, "query": {"status": ["unscanned"]}}
    return SavedList.objects.create(owner=owner, brand=brand, **{**defaults, **fields})


def open_list(user, saved):
    return browser(user).get(address("brands.savedlist", "open", saved.pk))


def location_or_status(response):
    return response.headers.get("Location", response.status_code)


def test_list_is_saved_with_its_filters_and_opened_by_name(brand, owner):
    response = save(owner, brand, query="assigned=no&q=NW-&o=2&p=3&e=1")

    [saved] = SavedList.objects.all()
    menu = text(browser(owner).get(address(CODES)))
    assert response.status_code == 302
    assert (saved.name, saved.owner, saved.brand, saved.is_shared) == ("Live codes", owner, brand, False)
    assert saved.query == {"assigned": ["no"], "q": ["NW-"], "o": ["2"]}
    assert address("brands.savedlist", "open", saved.pk) in menu
    assert location_or_status(open_list(owner, saved)) == f"{address(CODES)}?o=2&q=NW-&assigned=no"
    assert AuditLogEntry.objects.filter(kind="brands.savedlist", user=owner, brand=brand, action="Added").exists()


def test_form_is_prefilled_with_the_filters_of_the_list(brand, owner):
    page = browser(owner).get(address(CODES), {"assigned": "no"})
    link = f"{ADD}?{urlencode({'list': CODES, 'address': 'assigned=no'})}"

    assert link.replace("&", "&amp;") in text(page)
    initial = browser(owner).get(link).context["adminform"].form.initial
    assert (initial["list"], initial["address"], initial["brand"]) == (CODES, "assigned=no", brand.pk)


@pytest.mark.parametrize(
    ("invalid_fields", "error_field"),
    [
        ({"label": "nowhere.nothing"}, "__all__"),
        ({"label": "authcodes"}, "__all__"),
        ({"label": "auth.group"}, "__all__"),
        ({"label": "brands.apikey\0"}, "list"),
        ({"label": "x" * 101}, "list"),
        ({"query": "nothing=1"}, "__all__"),
        ({"query": "brand__slug=x"}, "__all__"),
        ({"query": "assigned=perhaps"}, "__all__"),
        ({"query": "product__id__exact=99999999"}, "__all__"),
        ({"query": "product__id__exact=١٢"}, "__all__"),
        ({"query": "product__id__exact=9" * 400}, "address"),
        ({"query": "q=%00"}, "__all__"),
        ({"query": "%00=1"}, "__all__"),
        ({"query": "q=a\0"}, "address"),
        ({"query": "&".join(f"a{number}=1" for number in range(300))}, "__all__"),
        ({"query": "a" * 2001}, "address"),
        ({"name": "n" * 81}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"name": "NUL\0"}, "name"),
    ],
)
def test_invalid_list_filters_or_name_are_not_saved(brand, owner, invalid_fields, error_field):
    response = save(owner, brand, **invalid_fields)

    assert response.status_code == 200
    assert error_field in errors(response)
    assert not SavedList.objects.exists()


def test_name_is_unique_for_each_owner(brand, owner):
    colleague = staff(brand)
    save(owner, brand)

    assert save(owner, brand).status_code == 200
    assert save(colleague, brand).status_code == 302
    assert SavedList.objects.count() == 2


def test_number_of_saved_lists_is_limited(brand, owner, monkeypatch):
    monkeypatch.setattr(saved_lists_page, "MAX_SAVED", 1)
    save(owner, brand)

    response = save(owner, brand, name="Another")

    assert errors(response) == {"__all__": ["You have saved 1 lists. Delete one first."]}
    assert SavedList.objects.get().name == "Live codes"


def test_every_list_of_the_portal_can_be_saved_without_filters(brand, owner):
    model_admins = [
        model_admin for model_admin in admin.site._registry.values() if isinstance(model_admin, TenantAdmin)
    ]

    assert len(model_admins) > 30
    assert {
        model_admin.opts.label: queries.rejected(owner, model_admin, {"o": ["1"]}) for model_admin in model_admins
    } == {model_admin.opts.label: [] for model_admin in model_admins}


def test_colleagues_see_only_shared_lists_that_their_role_allows(brand, owner):
    manager, printer = staff(brand, role="manager"), staff(brand, role="printer")
    private = saved_list(owner, brand)
    shared = saved_list(owner, brand, name="Shared", is_shared=True)
    scan_list = saved_list(owner, brand, name="Scans", model_label="authcodes.scan", query={}, is_shared=True)

    assert [location_or_status(open_list(manager, saved)) for saved in (private, shared)] == [
        404,
        f"{address(CODES)}?status=unscanned",
    ]
    assert location_or_status(open_list(manager, scan_list)) == address("authcodes.scan")
    assert location_or_status(open_list(printer, scan_list)) == 404
    assert "Scans" not in text(browser(printer).get(address("brands.savedlist")))
    assert "Shared" in text(browser(printer).get(address("brands.savedlist")))


def test_list_cannot_be_opened_after_the_role_was_removed(brand, owner):
    saved = saved_list(owner, brand, model_label="authcodes.scan", query={})
    StaffRole.objects.filter(user=owner).update(role="printer")

    assert location_or_status(open_list(owner, saved)) == 404


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_colleagues_cannot_change_a_list_and_only_brand_owners_delete_shared_ones(brand, owner, role):
    colleague = browser(staff(brand, role=role))
    shared, private = saved_list(owner, brand, is_shared=True), saved_list(owner, brand, name="Own")

    rename_shared = colleague.post(address("brands.savedlist", "change", shared.pk), {"name": "Mine"})
    delete_private = colleague.post(address("brands.savedlist", "delete", private.pk), {"post": "yes"})
    delete_shared = colleague.post(address("brands.savedlist", "delete", shared.pk), {"post": "yes"})

    assert (rename_shared.status_code, delete_private.status_code) == (403, 404)
    assert delete_shared.status_code == (302 if role == "owner" else 403)
    assert SavedList.objects.filter(pk=shared.pk).exists() == (role != "owner")


def test_owner_of_a_list_can_rename_share_and_delete_it(brand, owner):
    saved, client = saved_list(owner, brand), browser(owner)

    client.post(address("brands.savedlist", "change", saved.pk), {"name": "All live", "is_shared": "on"})
    saved.refresh_from_db()
    assert (saved.name, saved.is_shared) == ("All live", True)

    client.post(address("brands.savedlist", "delete", saved.pk), {"post": "yes"})
    assert not SavedList.objects.exists()
    actions = AuditLogEntry.objects.filter(kind="brands.savedlist").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["Changed", "Deleted"]


def test_staff_can_neither_see_nor_add_lists_of_another_brand(brand, owner):
    foreign_user = staff(factories.brand(name="Other", slug="other"))
    saved = saved_list(owner, brand, name="Secret name", is_shared=True)
    client = browser(foreign_user)

    for action in ("open", "change", "delete", "history"):
        assert client.get(address("brands.savedlist", action, saved.pk)).status_code == 404
    assert "Secret name" not in text(client.get(address(CODES)))
    assert "Secret name" not in text(client.get(address("brands.savedlist")))
    assert save(foreign_user, brand, query="").status_code == 200
    assert SavedList.objects.count() == 1


def test_filter_by_another_brands_row_is_rejected_like_a_missing_row(brand, owner):
    product = factories.product(factories.brand(name="Other", slug="other"))

    foreign = save(owner, brand, query=f"product__id__exact={product.pk}")
    missing = save(owner, brand, query="product__id__exact=99999999")

    assert errors(foreign) == errors(missing)


def test_list_of_staff_with_several_brands_opens_for_its_brand(brand):
    other_brand = factories.brand(name="Other", slug="other")
    user, colleague = staff(brand, other_brand), staff(brand)
    save(user, brand, query=f"brand__id__exact={brand.pk}&assigned=no", is_shared="on")
    saved = SavedList.objects.get()

    assert saved.query == {"assigned": ["no"]}
    assert location_or_status(open_list(user, saved)).endswith(f"?assigned=no&brand__id__exact={brand.pk}")
    assert location_or_status(open_list(colleague, saved)) == f"{address(CODES)}?assigned=no"
    assert browser(user).get(location_or_status(open_list(user, saved))).status_code == 200


def test_filter_that_no_longer_works_is_dropped_and_named(brand, owner):
    product = factories.product(brand)
    saved = saved_list(owner, brand, query={"assigned": ["no"], "product__id__exact": [str(product.pk)], "gone": ["1"]})
    product.delete()

    response = open_list(owner, saved)

    assert location_or_status(response) == f"{address(CODES)}?assigned=no"
    [message] = messages.get_messages(response.wsgi_request)
    assert "gone, product" in str(message).lower()
    assert browser(owner).get(address("brands.savedlist", "change", saved.pk)).status_code == 200


def test_saved_list_of_a_removed_model_is_not_found(brand, owner):
    saved = saved_list(owner, brand, model_label="authcodes.gone")

    assert location_or_status(open_list(owner, saved)) == 404
    assert browser(owner).get(address("brands.savedlist")).status_code == 200


def test_menu_takes_as_many_queries_for_thirty_lists_as_for_one(brand, owner, django_assert_max_num_queries):
    client = browser(owner)
    saved_list(owner, brand)
    client.get(address(CODES))
    with django_assert_max_num_queries(100) as first:
        client.get(address(CODES))
    for number in range(30):
        saved_list(owner, brand, name=f"List {number}", is_shared=bool(number % 2))
    with django_assert_max_num_queries(len(first)):
        assert "List 29" in text(client.get(address(CODES)))


def test_erasure_deletes_the_lists_of_a_customer_and_those_that_mention_them(brand, owner):
    customer = factories.customer(brand, email="anna@example.com")
    saved_list(customer, brand, name="Former colleague's")
    query_with_email = {"q": ["Anna@example.com"]}
    saved_list(owner, brand, name="One customer", model_label="loyalty.userpoints", query=query_with_email)
    for search in ("Berg", "berg, anna ", "ANNA"):
        saved_list(owner, brand, name=f"By {search}", model_label="loyalty.userpoints", query={"q": [search]})
    remaining = [
        saved_list(owner, brand),
        saved_list(owner, brand, name="A product", query={"q": ["Berg"]}),
        saved_list(owner, brand, name="More", model_label="loyalty.userpoints", query={"q": ["Bergmann"]}),
    ]

    assert [row["name"] for row in personal_data.SAVED_LISTS.export(customer.pk, brand.pk)] == ["Former colleague's"]
    personal_data.SAVED_LISTS.erase(customer.pk, brand.pk, to=customer.pk, at=timezone.now())
    mentions = Mentions(customer.email, "Anna", "Berg")
    personal_data.erase_saved_lists_naming(
        brand_id=brand.pk, mentions=mentions, lists_of_customers=kinds.lists_of_customers()
    )

    assert sorted(SavedList.objects.all(), key=lambda saved: saved.pk) == remaining
