"""Whether a brand is a sandbox is said when it is made, shown in the portal, and never changed."""

import pytest
from django.db import IntegrityError, transaction

from brands.models.tenants import Brand
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db
MARK = 'id="sandbox-mark"'


@pytest.fixture
def superuser():
    return browser(factories.user(is_staff=True, is_superuser=True))


@pytest.mark.parametrize("is_sandbox", [True, False])
def test_the_database_keeps_it(is_sandbox):
    brand = factories.brand(is_sandbox=is_sandbox)

    with pytest.raises(IntegrityError, match="set when it is made"), transaction.atomic():
        Brand.objects.filter(pk=brand.pk).update(is_sandbox=not is_sandbox)
    brand.name = "Another name"
    brand.save()

    brand.refresh_from_db()
    assert (brand.is_sandbox, brand.name) == (is_sandbox, "Another name")


def test_operators_choose_it_for_a_new_brand(superuser):
    sent = {**form_of(superuser.get(address("brands.brand", "add"))), "name": "Try", "slug": "try"}
    sent |= {"support_email": "help@example.com", "is_sandbox": "on"}

    superuser.post(address("brands.brand", "add"), sent)

    assert Brand.objects.get(slug="try").is_sandbox


def test_a_form_cannot_change_it(superuser):
    brand = factories.brand()
    page = superuser.get(address("brands.brand", "change", brand.pk))

    superuser.post(address("brands.brand", "change", brand.pk), {**form_of(page), "is_sandbox": "on", "name": "New"})

    brand.refresh_from_db()
    assert (brand.is_sandbox, brand.name) == (False, "New")


def test_the_header_says_it_of_a_sandbox_alone():
    sandbox, live = factories.brand(is_sandbox=True), factories.brand()

    assert MARK in text(browser(staff(sandbox)).get("/admin/"))
    assert MARK not in text(browser(staff(live)).get("/admin/"))


def test_the_switcher_says_it():
    sandbox, live = factories.brand(name="Try", is_sandbox=True), factories.brand(name="Shop")

    page = text(browser(staff(sandbox, live)).get("/admin/"))

    assert ">Try (Sandbox)</option>" in page
    assert ">Shop</option>" in page
