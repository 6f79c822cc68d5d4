"""A session begun with a brand's identity provider is limited to that brand."""

import pytest
from django.test import Client

from brands.identity import roles
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from tests.brands.staff_login.provider import sign_in
from tests.brands.staff_login.signing_in import add_app, code_of, is_logged_in, submit_password
from tests.support import factories
from tests.support.portal import address, staff


@pytest.fixture
def scoped(brand, provider, web_client):
    """A browser, the owner of two brands logged in there by the first brand's provider, and the second brand."""
    other = factories.brand(name="Other brand")
    owner = staff(brand, other, role="owner", email="both@example.com", password=factories.PASSWORD)
    provider.email = owner.email
    sign_in(web_client, brand, provider)
    assert is_logged_in(web_client)
    return web_client, owner, other


@pytest.mark.parametrize("label", ["brands.brand", "brands.staffrole", "brands.auditlogentry", "brands.user"])
def test_other_brand_is_not_in_any_list(scoped, label):
    web_client, owner, other = scoped
    colleague = staff(other, email="only-there@example.com")
    AuditLogEntry.objects.create(
        brand=other, user=owner, kind="brands.brand", row_id=1, row_name="x", action="Only there"
    )

    page = web_client.get(address(label)).content.decode()

    assert "Other brand" not in page
    assert colleague.email not in page
    assert "Only there" not in page


def test_pages_of_the_other_brand_are_not_found(scoped):
    web_client, _owner, other = scoped

    assert web_client.get(address("brands.brand", "change", other.pk)).status_code == 404
    assert web_client.post("/admin/brand/", {"viewed": str(other.pk)}).status_code == 302
    assert web_client.get(address("brands.brand", "change", other.pk)).status_code == 404


def test_api_does_not_return_the_other_brands_codes(scoped, brand):
    web_client, _owner, other = scoped
    foreign, ours = factories.batch(other, prefix="OTHER-"), factories.batch(brand, prefix="OURS-")

    statuses = [web_client.get(f"/api/v1/batch-ranges/{batch.pk}/qr-codes").status_code for batch in (ours, foreign)]

    assert statuses[0] == 200
    assert statuses[1] in {403, 404}


def test_control_login_by_password_includes_the_other_brand(scoped):
    _, owner, other = scoped
    web_client = Client()
    submit_password(web_client, owner)

    assert web_client.get(address("brands.brand", "change", other.pk)).status_code == 200


@pytest.mark.parametrize("path", ["account/", "account/factors/add/", "account/confirm/", "password_change/"])
def test_password_and_factors_cannot_be_changed_in_the_session(scoped, path):
    web_client, owner, _other = scoped
    before = owner.password

    web_client.get(f"/admin/{path}")
    response = web_client.post(
        f"/admin/{path}",
        {
            "password": factories.PASSWORD,
            "old_password": factories.PASSWORD,
            "new_password1": "n3w-phrase-x",
            "new_password2": "n3w-phrase-x",
        },
    )

    assert response.headers["Location"] == "/admin/"
    owner.refresh_from_db()
    assert owner.password == before


def test_attempts_to_change_the_password_in_the_session_do_not_use_up_those_of_the_second_step(scoped, settings):
    """A brand could otherwise lock a colleague out of the other brand."""
    web_client, owner, _other = scoped
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "20/hour"}
    seed, other_browser = add_app(owner), Client()

    for _ in range(21):
        web_client.post("/admin/password_change/", {"old_password": "guess"})
    submit_password(other_browser, owner)
    other_browser.post("/admin/second-factor/", {"code": code_of(seed)})

    assert is_logged_in(other_browser)


def test_user_who_becomes_a_superuser_is_logged_out(scoped):
    web_client, owner, _other = scoped
    User.objects.filter(pk=owner.pk).update(is_superuser=True)

    assert not is_logged_in(web_client)


def test_user_who_loses_the_role_loses_access(scoped, brand):
    web_client, owner, _other = scoped
    StaffRole.objects.filter(user=owner, brand=brand).delete()

    assert web_client.get(address("brands.brand", "change", brand.pk)).status_code in {403, 404}


def test_later_login_by_password_has_the_full_scope_again(scoped):
    web_client, owner, other = scoped

    web_client.post("/admin/logout/")
    submit_password(web_client, owner)

    assert web_client.get(address("brands.brand", "change", other.pk)).status_code == 200


def test_without_a_limit_the_scope_has_all_brands_of_the_user(brand):
    owner = staff(brand, factories.brand())

    assert len(roles.brand_scope(owner, "v", "brands.brand").brand_ids) == 2
