"""The portal's pages about people: accounts, roles, passwords and the login."""

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
from brands.staff_login import staff as people
from core.errors import Invalid
from loyalty.models.accounts import UserPoints
from portal.shell.login import LoginForm
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def superuser() -> Client:
    return browser(factories.user(is_staff=True, is_superuser=True))


COLLEAGUE = {"email": "Nora@Example.com", "role": "printer", "password1": "a long one, 7", "password2": "a long one, 7"}


def test_an_operator_makes_a_colleague_who_can_log_in(superuser: Client, brand: Brand) -> None:
    made = superuser.post(address("brands.user", "add"), {**COLLEAGUE, "brand": brand.pk})

    assert made.status_code == 302
    person = User.objects.get(email="nora@example.com")
    assert (person.is_staff, person.is_superuser, person.check_password("a long one, 7")) == (True, False, True)
    assert StaffRole.objects.get(user=person, brand=brand).role == "printer"
    assert browser(person).get(address("authcodes.batchrange")).status_code == 200


@pytest.mark.parametrize(
    ("wrong", "field"),
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
def test_colleague_who_cannot_be_is_refused(superuser: Client, brand: Brand, wrong: dict[str, str], field: str) -> None:
    factories.user(email="anna@example.com")

    refused = superuser.post(address("brands.user", "add"), {**COLLEAGUE, "brand": brand.pk, **wrong})

    assert list(errors(refused)) == [field]
    assert not User.objects.filter(email="nora@example.com").exists()


def test_owner_makes_no_account_and_learns_of_none(client: Client, brand: Brand) -> None:
    factories.user(email="anna@example.com")
    sent = {**COLLEAGUE, "brand": brand.pk}

    known = client.post(address("brands.user", "add"), {**sent, "email": "anna@example.com"})
    unknown = client.post(address("brands.user", "add"), sent)

    assert (known.status_code, unknown.status_code) == (403, 403)
    assert not User.objects.filter(email="nora@example.com").exists()


def test_no_form_for_a_role_has_one_chosen(client: Client, superuser: Client) -> None:
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


def test_staff_read_customers_but_change_nobody(client: Client, customer: User) -> None:
    its = address("brands.user", "change", customer.pk)

    assert customer.email in text(client.get(its))
    assert client.post(its, {"email": "mine@example.com", "password1": "x", "password2": "x"}).status_code == 403


def test_no_page_shows_what_is_stored_of_a_password(superuser: Client, customer: User) -> None:
    customer.set_password("correct horse battery")
    customer.save()

    shown = text(superuser.get(address("brands.user", "change", customer.pk)))

    assert customer.password not in shown
    assert customer.password.split("$")[0] not in shown


def test_superuser_sets_a_password_and_switches_a_person_off(superuser: Client, customer: User) -> None:
    its = address("brands.user", "change", customer.pk)
    form = {name: value for name, value in form_of(superuser.get(its)).items() if name != "is_active"}

    superuser.post(its, {**form, "password1": "a long one, 7", "password2": "a long one, 7"})

    customer.refresh_from_db()
    assert customer.check_password("a long one, 7")
    assert not customer.is_active


def test_saving_a_person_without_a_password_leaves_it(superuser: Client, customer: User) -> None:
    customer.set_password("correct horse battery")
    customer.save()
    its = address("brands.user", "change", customer.pk)

    superuser.post(its, {**form_of(superuser.get(its)), "first_name": "Anna"})

    customer.refresh_from_db()
    assert customer.first_name == "Anna"
    assert customer.check_password("correct horse battery")


def test_people_are_sorted_by_when_they_came_here(brand: Brand) -> None:
    """Not by when they came to another brand first: two who were imported together stand together."""
    long_ago, now = timezone.now() - timedelta(days=300), timezone.now()
    people = {
        name: factories.user(email=f"{name}@example.com", date_joined=long_ago if name == "known" else now)
        for name in ("anna", "known", "zoe")
    }
    for days, name in enumerate(("zoe", "known", "anna")):
        UserPoints.objects.create(user=people[name], brand=brand, enrolled_at=now - timedelta(days=days))

    page = browser(staff(brand, email="olga@example.com")).get(address("brands.user"), {"o": "3", "kind": "customer"})

    assert [row.email.partition("@")[0] for row in page.context["cl"].result_list] == ["anna", "known", "zoe"]


@pytest.mark.parametrize(("kind", "found"), [("staff", ["olga"]), ("customer", ["carl", "sven"])])
def test_users_are_told_apart_by_what_they_are_here(brand: Brand, kind: str, found: list[str]) -> None:
    owner = staff(brand, email="olga@example.com")
    factories.customer(brand, email="carl@example.com")
    elsewhere = staff(factories.brand(), email="sven@example.com")
    elsewhere.registered_brand = brand
    elsewhere.save()

    shown = browser(owner).get(address("brands.user"), {"kind": kind}).context["cl"].result_list

    assert [user.email.partition("@")[0] for user in shown] == found


NEW_PASSWORD = {"password1": "a long one, 7", "password2": "a long one, 7"}


def assign_role(client: Client, brand: Brand, person: User, **more: str) -> Any:
    sent = {"brand": brand.pk, "user": person.pk, "role": "support", **more}
    return client.post(address("brands.staffrole", "add"), sent)


def test_customer_becomes_staff_with_a_new_password(superuser: Client, brand: Brand) -> None:
    """Somebody else may have registered the address, and be logged in with it."""
    person = factories.customer(brand, password="chosen by a stranger")
    strangers, pair = browser(person), tokens.issue(user=person, brand=brand, at=timezone.now())

    assign_role(superuser, brand, person, **NEW_PASSWORD)

    person.refresh_from_db()
    assert person.check_password(NEW_PASSWORD["password1"])
    assert person.login_sessions.get().revoked_at
    assert strangers.get(address("loyalty.userpoints")).status_code == 302
    token = tokens.verify_access(pair.access)
    assert not authentication.staff_may_read(person, token, brand.pk, "authcodes.scan")
    fresh = tokens.verify_access(tokens.issue(user=person, brand=brand, at=timezone.now()).access)
    assert authentication.staff_may_read(person, fresh, brand.pk, "authcodes.scan")
    assert browser(person).get(address("loyalty.userpoints")).status_code == 200
    entry = AuditLogEntry.objects.get(kind="brands.user", row_id=person.pk, brand=brand)
    assert entry.changes == {"password": ["•••", "•••"], "is_staff": [False, True]}


@pytest.mark.parametrize(
    "sent", [{}, {**NEW_PASSWORD, "password1": "short", "password2": "short"}], ids=["none", "bad"]
)
def test_first_role_without_a_good_password_is_refused(
    superuser: Client, brand: Brand, customer: User, sent: dict[str, str]
) -> None:
    refused = assign_role(superuser, brand, customer, **sent)

    assert list(errors(refused)) == ["password1"]
    with pytest.raises(Invalid):
        people.assign_role(user=customer, brand=brand, role="support", at=timezone.now())
    assert not StaffRole.objects.filter(user=customer).exists()


def test_staff_keep_their_password_with_another_role(brand: Brand) -> None:
    other = factories.brand()
    client, person = browser(staff(brand, other)), staff(other, password="correct horse battery")

    assert list(errors(assign_role(client, brand, person, **NEW_PASSWORD))) == ["password1"]
    assign_role(client, brand, person)

    person.refresh_from_db()
    assert person.check_password("correct horse battery")
    assert StaffRole.objects.filter(user=person, brand=brand).exists()


def test_the_form_of_roles_does_not_tell_what_a_customer_is_elsewhere(
    client: Client, superuser: Client, brand: Brand, customer: User
) -> None:
    """And takes nobody's account away: who works for a brand logs in nowhere as a customer."""
    shared, working = factories.customer(brand), factories.customer(brand, is_staff=True)
    factories.accounts.enrol(user_id=shared.pk, brand_id=factories.brand().pk, at=timezone.now())
    StaffRole.objects.create(user=working, brand=factories.brand(), role="owner")

    for sent in ({}, NEW_PASSWORD):
        field_errors = [errors(assign_role(client, brand, person, **sent)) for person in (customer, shared, working)]
        assert field_errors == [field_errors[0]] * 3
        assert list(field_errors[0]) == ["user"]
    assert assign_role(superuser, brand, shared, **NEW_PASSWORD).status_code == 302


@pytest.mark.parametrize("field", ["is_staff", "is_superuser"])
def test_operator_lets_a_customer_in_with_a_new_password(superuser: Client, customer: User, field: str) -> None:
    its = address("brands.user", "change", customer.pk)
    sent = {**form_of(superuser.get(its)), field: "on"}

    assert list(errors(superuser.post(its, sent))) == ["password1"]
    assert superuser.post(its, {**sent, **NEW_PASSWORD}).status_code == 302


def test_membership_keeps_its_person(client: Client, brand: Brand, customer: User) -> None:
    staff_role = StaffRole.objects.create(user=staff(), brand=brand, role="support")
    its = address("brands.staffrole", "change", staff_role.pk)

    client.post(its, {**form_of(client.get(its)), "user": customer.pk, "role": "manager"})

    changed = StaffRole.objects.get(pk=staff_role.pk)
    assert (changed.user, changed.role) == (staff_role.user, "manager")


def test_passwords_are_not_guessed_at_the_portals_login(settings: Any, rf: Any) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login": "3/minute"}
    person = staff(email=f"guessed{timezone.now().timestamp()}@example.com", password="correct horse battery")

    somewhere = f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1"

    def attempt(password: str) -> LoginForm:
        return LoginForm(
            rf.post("/admin/login/", REMOTE_ADDR=somewhere), data={"username": person.email, "password": password}
        )

    assert attempt("correct horse battery").is_valid()
    for _ in range(3):
        attempt("wrong").is_valid()

    refused = attempt("correct horse battery")
    assert not refused.is_valid()
    assert refused.non_field_errors() == ["Too many requests. Wait before trying again."]
