"""Whether a brand is a sandbox is set on creation, visible in the portal, and never changed."""

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
def test_database_rejects_a_change_of_the_sandbox_flag(is_sandbox):
    brand = factories.brand(is_sandbox=is_sandbox)

    with pytest.raises(IntegrityError, match="set when it is made"), transaction.atomic():
        Brand.objects.filter(pk=brand.pk).update(is_sandbox=not is_sandbox)
    brand.name = "Another name"
    brand.save()

    brand.refresh_from_db()
    assert (brand.is_sandbox, brand.name) == (is_sandbox, "Another name")


def test_operator_can_create_a_sandbox(superuser):
    form_data = {**form_of(superuser.get(address("brands.brand", "add"))), "name": "Try", "slug": "try"}
    form_data |= {"support_email": "help@example.com", "is_sandbox": "on"}

    superuser.post(address("brands.brand", "add"), form_data)

    assert Brand.objects.get(slug="try").is_sandbox


def test_form_cannot_change_the_sandbox_flag(superuser):
    brand = factories.brand()
    page = superuser.get(address("brands.brand", "change", brand.pk))

    superuser.post(address("brands.brand", "change", brand.pk), {**form_of(page), "is_sandbox": "on", "name": "New"})

    brand.refresh_from_db()
    assert (brand.is_sandbox, brand.name) == (False, "New")


def test_header_marks_only_sandboxes():
    sandbox, live = factories.brand(is_sandbox=True), factories.brand()

    assert MARK in text(browser(staff(sandbox)).get("/admin/"))
    assert MARK not in text(browser(staff(live)).get("/admin/"))


def test_brand_switcher_marks_sandboxes():
    sandbox, live = factories.brand(name="Try", is_sandbox=True), factories.brand(name="Shop")

    page = text(browser(staff(sandbox, live)).get("/admin/"))

    assert ">Try (Sandbox)</option>" in page
    assert ">Shop</option>" in page
