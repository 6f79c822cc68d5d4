"""Saved lists: a list's filters under a name, of one brand, opened with the permissions of whoever opens them."""

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


def save(person, brand, *, label=CODES, query="status=unscanned", name="Live codes", **more):
    sent = {"brand": brand.pk, "name": name, "list": label, "address": query, **more}
    return browser(person).post(ADD, sent)


def saved_list(owner, brand, **fields):
    plain = {"name": "Live codes", "model_label": CODES, "query": {"status": ["unscanned"]}}
    return SavedList.objects.create(owner=owner, brand=brand, **{**plain, **fields})


def opened(person, saved):
    return browser(person).get(address("brands.savedlist", "open", saved.pk))


def leads_to(response):
    return response.headers.get("Location", response.status_code)


def test_a_list_is_saved_under_a_name_and_opened_by_it(brand, owner):
    answer = save(owner, brand, query="assigned=no&q=NW-&o=2&p=3&e=1")

    [saved] = SavedList.objects.all()
    menu = text(browser(owner).get(address(CODES)))
    assert answer.status_code == 302
    assert (saved.name, saved.owner, saved.brand, saved.is_shared) == ("Live codes", owner, brand, False)
    assert saved.query == {"assigned": ["no"], "q": ["NW-"], "o": ["2"]}
    assert address("brands.savedlist", "open", saved.pk) in menu
    assert leads_to(opened(owner, saved)) == f"{address(CODES)}?o=2&q=NW-&assigned=no"
    assert AuditLogEntry.objects.filter(kind="brands.savedlist", user=owner, brand=brand, action="Added").exists()


def test_the_form_has_what_the_list_was_filtered_by(brand, owner):
    page = browser(owner).get(address(CODES), {"assigned": "no"})
    link = f"{ADD}?{urlencode({'list': CODES, 'address': 'assigned=no'})}"

    assert link.replace("&", "&amp;") in text(page)
    initial = browser(owner).get(link).context["adminform"].form.initial
    assert (initial["list"], initial["address"], initial["brand"]) == (CODES, "assigned=no", brand.pk)


@pytest.mark.parametrize(
    ("sent", "where"),
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
def test_what_the_list_or_the_name_cannot_be_is_not_saved(brand, owner, sent, where):
    answer = save(owner, brand, **sent)

    assert answer.status_code == 200
    assert where in errors(answer)
    assert not SavedList.objects.exists()


def test_a_name_is_used_once_by_each_owner(brand, owner):
    other = staff(brand)
    save(owner, brand)

    assert save(owner, brand).status_code == 200
    assert save(other, brand).status_code == 302
    assert SavedList.objects.count() == 2


def test_nobody_saves_lists_without_end(brand, owner, monkeypatch):
    monkeypatch.setattr(saved_lists_page, "MAX_SAVED", 1)
    save(owner, brand)

    assert save(owner, brand, name="Another").status_code == 200


def test_every_list_of_the_portal_can_be_saved_without_filters(brand, owner):
    pages = [page for page in admin.site._registry.values() if isinstance(page, TenantAdmin)]

    assert len(pages) > 30
    assert {page.opts.label: queries.rejected(owner, page, {"o": ["1"]}) for page in pages} == {
        page.opts.label: [] for page in pages
    }


def test_only_shared_lists_are_offered_to_colleagues_who_may_see_such_rows(brand, owner):
    manager, printer = staff(brand, role="manager"), staff(brand, role="printer")
    own = saved_list(owner, brand)
    shared = saved_list(owner, brand, name="Shared", is_shared=True)
    scans = saved_list(owner, brand, name="Scans", model_label="authcodes.scan", query={}, is_shared=True)

    assert [leads_to(opened(manager, each)) for each in (own, shared)] == [404, f"{address(CODES)}?status=unscanned"]
    assert leads_to(opened(manager, scans)) == address("authcodes.scan")
    assert leads_to(opened(printer, scans)) == 404
    assert "Scans" not in text(browser(printer).get(address("brands.savedlist")))
    assert "Shared" in text(browser(printer).get(address("brands.savedlist")))


def test_a_role_that_was_taken_away_takes_the_list_with_it(brand, owner):
    saved = saved_list(owner, brand, model_label="authcodes.scan", query={})
    StaffRole.objects.filter(user=owner).update(role="printer")

    assert leads_to(opened(owner, saved)) == 404


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_only_its_owner_changes_a_list_and_owners_of_the_brand_delete_shared_ones(brand, owner, role):
    colleague = browser(staff(brand, role=role))
    shared, own = saved_list(owner, brand, is_shared=True), saved_list(owner, brand, name="Own")

    renamed = colleague.post(address("brands.savedlist", "change", shared.pk), {"name": "Mine"})
    hidden = colleague.post(address("brands.savedlist", "delete", own.pk), {"post": "yes"})
    deleted = colleague.post(address("brands.savedlist", "delete", shared.pk), {"post": "yes"})

    assert (renamed.status_code, hidden.status_code) == (403, 404)
    assert deleted.status_code == (302 if role == "owner" else 403)
    assert SavedList.objects.filter(pk=shared.pk).exists() == (role != "owner")


def test_its_owner_renames_shares_and_deletes_it(brand, owner):
    saved, window = saved_list(owner, brand), browser(owner)

    window.post(address("brands.savedlist", "change", saved.pk), {"name": "All live", "is_shared": "on"})
    saved.refresh_from_db()
    assert (saved.name, saved.is_shared) == ("All live", True)

    window.post(address("brands.savedlist", "delete", saved.pk), {"post": "yes"})
    assert not SavedList.objects.exists()
    actions = AuditLogEntry.objects.filter(kind="brands.savedlist").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["Changed", "Deleted"]


def test_a_brand_neither_sees_nor_makes_anything_of_another(brand, owner):
    stranger = staff(factories.brand(name="Other", slug="other"))
    saved = saved_list(owner, brand, name="Secret name", is_shared=True)
    window = browser(stranger)

    for what in ("open", "change", "delete", "history"):
        assert window.get(address("brands.savedlist", what, saved.pk)).status_code == 404
    assert "Secret name" not in text(window.get(address(CODES)))
    assert "Secret name" not in text(window.get(address("brands.savedlist")))
    assert save(stranger, brand, query="").status_code == 200
    assert SavedList.objects.count() == 1


def test_another_brands_row_in_a_filter_is_refused_as_one_that_is_not_there(brand, owner):
    product = factories.product(factories.brand(name="Other", slug="other"))

    foreign = save(owner, brand, query=f"product__id__exact={product.pk}")
    missing = save(owner, brand, query="product__id__exact=99999999")

    assert errors(foreign) == errors(missing)


def test_who_works_for_several_brands_opens_a_list_on_its_own(brand):
    other = factories.brand(name="Other", slug="other")
    person, colleague = staff(brand, other), staff(brand)
    save(person, brand, query=f"brand__id__exact={brand.pk}&assigned=no", is_shared="on")
    saved = SavedList.objects.get()

    assert saved.query == {"assigned": ["no"]}
    assert leads_to(opened(person, saved)).endswith(f"?assigned=no&brand__id__exact={brand.pk}")
    assert leads_to(opened(colleague, saved)) == f"{address(CODES)}?assigned=no"
    assert browser(person).get(leads_to(opened(person, saved))).status_code == 200


def test_a_filter_that_no_longer_works_is_named_and_left_out(brand, owner):
    product = factories.product(brand)
    saved = saved_list(owner, brand, query={"assigned": ["no"], "product__id__exact": [str(product.pk)], "gone": ["1"]})
    product.delete()

    answer = opened(owner, saved)

    assert leads_to(answer) == f"{address(CODES)}?assigned=no"
    [message] = messages.get_messages(answer.wsgi_request)
    assert "gone, product" in str(message).lower()
    assert browser(owner).get(address("brands.savedlist", "change", saved.pk)).status_code == 200


def test_a_list_that_the_portal_has_no_more_is_not_there(brand, owner):
    saved = saved_list(owner, brand, model_label="authcodes.gone")

    assert leads_to(opened(owner, saved)) == 404
    assert browser(owner).get(address("brands.savedlist")).status_code == 200


def test_the_menu_costs_the_same_for_one_list_and_for_thirty(brand, owner, django_assert_max_num_queries):
    window = browser(owner)
    saved_list(owner, brand)
    window.get(address(CODES))
    with django_assert_max_num_queries(100) as first:
        window.get(address(CODES))
    for number in range(30):
        saved_list(owner, brand, name=f"List {number}", is_shared=bool(number % 2))
    with django_assert_max_num_queries(len(first)):
        assert "List 29" in text(window.get(address(CODES)))


def test_a_persons_lists_go_with_their_data_and_those_that_name_them(brand, owner):
    customer = factories.customer(brand, email="anna@example.com")
    saved_list(customer, brand, name="Former colleague's")
    naming = {"q": ["Anna@example.com"]}
    saved_list(owner, brand, name="One customer", model_label="loyalty.userpoints", query=naming)
    for search in ("Berg", "berg, anna ", "ANNA"):
        saved_list(owner, brand, name=f"By {search}", model_label="loyalty.userpoints", query={"q": [search]})
    kept = [
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

    assert sorted(SavedList.objects.all(), key=lambda saved: saved.pk) == kept
