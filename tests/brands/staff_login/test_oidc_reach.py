"""What a session reaches that a brand's identity provider began: that brand, and nothing that opens another."""

import pytest
from django.test import Client

from brands.identity import roles
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from tests.brands.staff_login.provider import sign_in
from tests.brands.staff_login.signing_in import give_password, is_in
from tests.support import factories
from tests.support.portal import address, staff


@pytest.fixture
def scoped(brand, provider, window):
    """Somebody who owns two brands, in through the provider of the first; and the second brand."""
    other = factories.brand(name="Other brand")
    person = staff(brand, other, role="owner", email="both@example.com", password=factories.PASSWORD)
    provider.email = person.email
    sign_in(window, brand, provider)
    assert is_in(window)
    return window, person, other


@pytest.mark.parametrize("label", ["brands.brand", "brands.staffrole", "brands.auditlogentry", "brands.user"])
def test_the_other_brand_is_on_no_list(scoped, label):
    window, person, other = scoped
    colleague = staff(other, email="only-there@example.com")
    AuditLogEntry.objects.create(
        brand=other, user=person, kind="brands.brand", row_id=1, row_name="x", action="Only there"
    )

    page = window.get(address(label)).content.decode()

    assert "Other brand" not in page
    assert colleague.email not in page
    assert "Only there" not in page


def test_the_other_brands_rows_are_not_there(scoped):
    window, _person, other = scoped

    assert window.get(address("brands.brand", "change", other.pk)).status_code == 404
    assert window.post("/admin/brand/", {"viewed": str(other.pk)}).status_code == 302
    assert window.get(address("brands.brand", "change", other.pk)).status_code == 404


def test_the_api_reads_the_other_brand_for_no_such_session(scoped, brand):
    window, _person, other = scoped
    foreign, ours = factories.batch(other, prefix="OTHER-"), factories.batch(brand, prefix="OURS-")

    found = [window.get(f"/api/v1/batch-ranges/{batch.pk}/qr-codes").status_code for batch in (ours, foreign)]

    assert found[0] == 200
    assert found[1] in {403, 404}


def test_control_with_the_password_both_brands_are_there(scoped):
    _window, person, other = scoped
    window = Client()
    give_password(window, person)

    assert window.get(address("brands.brand", "change", other.pk)).status_code == 200


@pytest.mark.parametrize("path", ["account/", "account/factors/add/", "account/confirm/", "password_change/"])
def test_nothing_that_opens_other_brands_is_changed_from_there(scoped, path):
    window, person, _other = scoped
    before = person.password

    window.get(f"/admin/{path}")
    response = window.post(
        f"/admin/{path}",
        {
            "password": factories.PASSWORD,
            "old_password": factories.PASSWORD,
            "new_password1": "n3w-phrase-x",
            "new_password2": "n3w-phrase-x",
        },
    )

    assert response.headers["Location"] == "/admin/"
    person.refresh_from_db()
    assert person.password == before


def test_who_becomes_a_superuser_meanwhile_is_out(scoped):
    window, person, _other = scoped
    User.objects.filter(pk=person.pk).update(is_superuser=True)

    assert not is_in(window)


def test_who_loses_the_role_sees_nothing_more(scoped, brand):
    window, person, _other = scoped
    StaffRole.objects.filter(user=person, brand=brand).delete()

    assert window.get(address("brands.brand", "change", brand.pk)).status_code in {403, 404}


def test_a_login_by_password_in_the_same_browser_is_of_full_reach_again(scoped):
    window, person, other = scoped

    window.post("/admin/logout/")
    give_password(window, person)

    assert window.get(address("brands.brand", "change", other.pk)).status_code == 200


def test_without_a_scope_everything_of_the_user_is_in_reach(brand):
    person = staff(brand, factories.brand())

    assert len(roles.brand_scope(person, "v", "brands.brand").brand_ids) == 2
