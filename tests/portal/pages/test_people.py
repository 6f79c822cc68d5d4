"""The portal's pages for users: accounts, roles, passwords and the login."""

import secrets
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from brands.identity import authentication, tokens
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from brands.staff_login import staff as staff_accounts
from core.errors import Invalid
from loyalty.models.accounts import UserPoints
from portal.shell.login import LoginForm
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db


COLLEAGUE = {"email": "Nora@Example.com", "role": "printer", "password1": "a long one, 7", "password2": "a long one, 7"}


def test_operator_creates_a_colleague_who_can_log_in(superuser: Client, brand: Brand) -> None:
    response = superuser.post(address("brands.user", "add"), {**COLLEAGUE, "brand": brand.pk})

    assert response.status_code == 302
    user = User.objects.get(email="nora@example.com")
    assert (user.is_staff, user.is_superuser, user.check_password("a long one, 7")) == (True, False, True)
    assert StaffRole.objects.get(user=user, brand=brand).role == "printer"
    assert browser(user).get(address("authcodes.batchrange")).status_code == 200


@pytest.mark.parametrize("typed", ["Anna@example.com", "ANNA", "mEIER"])
def test_people_are_found_however_they_are_capitalised(superuser: Client, brand: Brand, typed: str) -> None:
    anna = staff(brand, email="anna@example.com", last_name="Meier")

    for client in (superuser, browser(staff(brand, email="owner@example.com"))):
        result = client.get(address("brands.user"), {"q": typed}).context["cl"].result_list
        assert [user.pk for user in result] == [anna.pk]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"password2": "another one, 8"}, "password2"),
        ({"password1": "short", "password2": "short"}, "password1"),
        ({"email": "anna@example.com"}, "email"),
        ({"email": "nobody"}, "email"),
        ({"role": "king"}, "role"),
        ({"role": ""}, "role"),
        ({"brand": ""}, "brand"),
    ],
)
def test_colleague_with_invalid_data_is_rejected(
    superuser: Client, brand: Brand, changes: dict[str, str], field: str
) -> None:
    factories.user(email="anna@example.com")

    rejected = superuser.post(address("brands.user", "add"), {**COLLEAGUE, "brand": brand.pk, **changes})

    assert list(errors(rejected)) == [field]
    assert not User.objects.filter(email="nora@example.com").exists()


def test_owner_can_neither_create_accounts_nor_detect_them(client: Client, brand: Brand) -> None:
    factories.user(email="anna@example.com")
    form_data = {**COLLEAGUE, "brand": brand.pk}

    response_for_known_address = client.post(address("brands.user", "add"), {**form_data, "email": "anna@example.com"})
    response_for_unknown_address = client.post(address("brands.user", "add"), form_data)

    assert (response_for_known_address.status_code, response_for_unknown_address.status_code) == (403, 403)
    assert not User.objects.filter(email="nora@example.com").exists()


def test_role_forms_have_no_preselected_role(client: Client, superuser: Client) -> None:
    forms = [
        superuser.get(address("brands.user", "add")),
        client.get(address("brands.staffrole", "add")),
        client.get(address("staff_login.invitation", "add")),
    ]

    for page in forms:
        field = page.context["adminform"].form["role"]
        assert (field.value() or "", field.field.choices[0][0]) == ("", "")
        assert field.field.required


def test_colleague_cannot_be_made_a_superuser(superuser: Client, brand: Brand) -> None:
    superuser.post(address("brands.user", "add"), {**COLLEAGUE, "brand": brand.pk, "is_superuser": "on"})

    assert not User.objects.get(email="nora@example.com").is_superuser


def test_staff_can_read_customers_but_not_change_them(client: Client, customer: User) -> None:
    url = address("brands.user", "change", customer.pk)

    assert customer.email in text(client.get(url))
    assert client.post(url, {"email": "mine@example.com", "password1": "x", "password2": "x"}).status_code == 403


def test_page_of_a_user_does_not_show_the_password_hash(superuser: Client, customer: User) -> None:
    customer.set_password("correct horse battery")
    customer.save()

    page_html = text(superuser.get(address("brands.user", "change", customer.pk)))

    assert customer.password not in page_html
    assert customer.password.split("$")[0] not in page_html


def test_superuser_sets_a_password_and_deactivates_a_user(superuser: Client, customer: User) -> None:
    url = address("brands.user", "change", customer.pk)
    form = {name: value for name, value in form_of(superuser.get(url)).items() if name != "is_active"}

    superuser.post(url, {**form, "password1": "a long one, 7", "password2": "a long one, 7"})

    customer.refresh_from_db()
    assert customer.check_password("a long one, 7")
    assert not customer.is_active


def test_saving_a_user_without_a_password_keeps_the_password(superuser: Client, customer: User) -> None:
    customer.set_password("correct horse battery")
    customer.save()
    url = address("brands.user", "change", customer.pk)

    superuser.post(url, {**form_of(superuser.get(url)), "first_name": "Anna"})

    customer.refresh_from_db()
    assert customer.first_name == "Anna"
    assert customer.check_password("correct horse battery")


@pytest.mark.parametrize("field", ["password1", "password2"])
def test_new_password_must_be_typed_twice(superuser: Client, customer: User, field: str) -> None:
    customer.set_password("correct horse battery")
    customer.save()
    url = address("brands.user", "change", customer.pk)

    rejected = superuser.post(url, {**form_of(superuser.get(url)), field: "a long one, 7"})

    assert list(errors(rejected)) == ["password2"]
    customer.refresh_from_db()
    assert customer.check_password("correct horse battery")


def test_users_are_sorted_by_when_they_joined_this_brand(brand: Brand) -> None:
    """Not by when they first joined another brand."""
    long_ago, now = timezone.now() - timedelta(days=300), timezone.now()
    users = {
        name: factories.user(email=f"{name}@example.com", date_joined=long_ago if name == "known" else now)
        for name in ("anna", "known", "zoe")
    }
    for days, name in enumerate(("zoe", "known", "anna")):
        UserPoints.objects.create(user=users[name], brand=brand, enrolled_at=now - timedelta(days=days))

    page = browser(staff(brand, email="olga@example.com")).get(address("brands.user"), {"o": "3", "kind": "customer"})

    assert [row.email.partition("@")[0] for row in page.context["cl"].result_list] == ["anna", "known", "zoe"]


@pytest.mark.parametrize(("kind", "expected"), [("staff", ["olga"]), ("customer", ["carl", "sven"])])
def test_kind_filter_depends_on_the_role_at_this_brand(brand: Brand, kind: str, expected: list[str]) -> None:
    owner = staff(brand, email="olga@example.com")
    factories.customer(brand, email="carl@example.com")
    foreign_staff = staff(factories.brand(), email="sven@example.com")
    foreign_staff.registered_brand = brand
    foreign_staff.save()

    rows = browser(owner).get(address("brands.user"), {"kind": kind}).context["cl"].result_list

    assert [row.email.partition("@")[0] for row in rows] == expected


NEW_PASSWORD = {"password1": "a long one, 7", "password2": "a long one, 7"}


def assign_role(client: Client, brand: Brand, user: User, **passwords: str) -> Any:
    form_data = {"brand": brand.pk, "user": user.pk, "role": "support", **passwords}
    return client.post(address("brands.staffrole", "add"), form_data)


def test_customer_who_becomes_staff_gets_a_new_password_and_no_old_session(superuser: Client, brand: Brand) -> None:
    """The address may have been registered by another person, who is still logged in with it."""
    user = factories.customer(brand, password="chosen by a stranger")
    earlier_client, earlier_tokens = browser(user), tokens.issue(user=user, brand=brand, at=timezone.now())

    assign_role(superuser, brand, user, **NEW_PASSWORD)

    user.refresh_from_db()
    assert user.check_password(NEW_PASSWORD["password1"])
    assert user.login_sessions.get().revoked_at
    assert earlier_client.get(address("loyalty.userpoints")).status_code == 302
    earlier_token = tokens.verify_access(earlier_tokens.access)
    assert not authentication.staff_may_read(user, earlier_token, brand.pk, "authcodes.scan")
    new_token = tokens.verify_access(tokens.issue(user=user, brand=brand, at=timezone.now()).access)
    assert authentication.staff_may_read(user, new_token, brand.pk, "authcodes.scan")
    assert browser(user).get(address("loyalty.userpoints")).status_code == 200
    entry = AuditLogEntry.objects.get(kind="brands.user", row_id=user.pk, brand=brand)
    assert entry.changes == {"password": ["•••", "•••"], "is_staff": [False, True]}


@pytest.mark.parametrize(
    ("form_data", "field"),
    [
        ({}, "password1"),
        ({"password1": "short", "password2": "short"}, "password1"),
        ({"password1": NEW_PASSWORD["password1"]}, "password2"),
    ],
    ids=["none", "bad", "typed once"],
)
def test_first_role_without_a_valid_password_is_rejected(
    superuser: Client, brand: Brand, customer: User, form_data: dict[str, str], field: str
) -> None:
    rejected = assign_role(superuser, brand, customer, **form_data)

    assert list(errors(rejected)) == [field]
    with pytest.raises(Invalid):
        staff_accounts.assign_role(user=customer, brand=brand, role="support", at=timezone.now())
    assert not StaffRole.objects.filter(user=customer).exists()


def test_staff_keep_their_password_when_they_get_another_role(brand: Brand) -> None:
    other_brand = factories.brand()
    client, user = browser(staff(brand, other_brand)), staff(other_brand, password="correct horse battery")

    assert list(errors(assign_role(client, brand, user, **NEW_PASSWORD))) == ["password1"]
    assign_role(client, brand, user)

    user.refresh_from_db()
    assert user.check_password("correct horse battery")
    assert StaffRole.objects.filter(user=user, brand=brand).exists()


def test_role_form_does_not_reveal_a_customers_relation_to_other_brands(
    client: Client, superuser: Client, brand: Brand, customer: User
) -> None:
    """Nor does it take a customer's account away: anyone who works for a brand cannot log in as a customer."""
    shared_customer, customer_with_role = factories.customer(brand), factories.customer(brand, is_staff=True)
    factories.accounts.enrol(user_id=shared_customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    StaffRole.objects.create(user=customer_with_role, brand=factories.brand(), role="owner")

    for form_data in ({}, NEW_PASSWORD):
        field_errors = [
            errors(assign_role(client, brand, user, **form_data))
            for user in (customer, shared_customer, customer_with_role)
        ]
        assert field_errors == [field_errors[0]] * 3
        assert list(field_errors[0]) == ["user"]
    assert assign_role(superuser, brand, shared_customer, **NEW_PASSWORD).status_code == 302


@pytest.mark.parametrize("field", ["is_staff", "is_superuser"])
def test_operator_must_set_a_password_to_make_a_customer_staff(superuser: Client, customer: User, field: str) -> None:
    url = address("brands.user", "change", customer.pk)
    form_data = {**form_of(superuser.get(url)), field: "on"}

    assert list(errors(superuser.post(url, form_data))) == ["password1"]
    assert superuser.post(url, {**form_data, **NEW_PASSWORD}).status_code == 302


def test_change_of_a_staff_role_cannot_change_its_user(client: Client, brand: Brand, customer: User) -> None:
    staff_role = StaffRole.objects.create(user=staff(), brand=brand, role="support")
    url = address("brands.staffrole", "change", staff_role.pk)

    client.post(url, {**form_of(client.get(url)), "user": customer.pk, "role": "manager"})

    changed = StaffRole.objects.get(pk=staff_role.pk)
    assert (changed.user, changed.role) == (staff_role.user, "manager")


def test_login_attempts_of_the_portal_are_rate_limited(settings: Any, rf: Any) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login": "3/minute"}
    user = staff(email=f"guessed{timezone.now().timestamp()}@example.com", password="correct horse battery")

    ip_address = f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1"

    def attempt(password: str) -> LoginForm:
        return LoginForm(
            rf.post("/admin/login/", REMOTE_ADDR=ip_address), data={"username": user.email, "password": password}
        )

    assert attempt("correct horse battery").is_valid()
    for _ in range(3):
        attempt("wrong").is_valid()

    rejected = attempt("correct horse battery")
    assert not rejected.is_valid()
    assert rejected.non_field_errors() == ["Too many requests. Wait before trying again."]
