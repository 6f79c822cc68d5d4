"""The portal's pages about brands and people: keys shown once, colleagues, hostnames, the login."""

import re
import secrets
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.http import Http404
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from brands.errors import ApiKeyInvalid
from brands.identity import api_keys, authentication, tokens
from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand, BrandHostname, validate_time_zone
from brands.staff_login import staff as people
from core.errors import Invalid
from portal.shell.login import LoginForm
from portal.site import PortalSite
from tests.support import factories
from tests.support.api import Api
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(brand: Brand) -> Client:
    return browser(staff(brand))


@pytest.fixture
def superuser() -> Client:
    return browser(factories.user(is_staff=True, is_superuser=True))


KEY = re.compile(r"(?:hub|app)_[A-Za-z0-9_-]{43}")


def add_key(client: Client, brand: Brand, **fields: Any) -> Any:
    sent = {"brand": brand.pk, "name": "Shop", "kind": "hub", "scopes": ["read"], "reason": "New shop", **fields}
    return client.post(address("brands.apikey", "add"), sent)


def stored_key(brand: Brand) -> tuple[ApiKey, str]:
    return api_keys.create(brand=brand, kind="hub", name="Shop", at=timezone.now())


def shown_key(response: Any) -> str:
    found = KEY.search(text(response))
    assert found
    return found[0]


def opens(key: str) -> bool:
    try:
        return bool(api_keys.find(key, at=timezone.now()))
    except ApiKeyInvalid:
        return False


def test_new_key_is_shown_in_the_answer_only(client: Client, brand: Brand, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")

    answer = add_key(client, brand)

    key = shown_key(answer)
    assert api_keys.find(key, at=timezone.now()).brand_id == brand.pk
    assert "no-store" in answer["Cache-Control"]
    made = ApiKey.objects.get()
    later = [client.get(where) for where in (address("brands.apikey"), address("brands.apikey", "change", made.pk))]
    later.append(client.get(address("brands.apikey", "history", made.pk)))
    assert not any(KEY.search(text(page)) for page in later)
    assert key not in str(client.cookies)
    assert key not in str(dict(client.session))
    assert key not in str(AuditLogEntry.objects.values_list())
    assert key not in caplog.text


@pytest.mark.parametrize("reason", ["", "  "])
def test_key_without_a_reason_is_not_made(client: Client, brand: Brand, reason: str) -> None:
    assert list(errors(add_key(client, brand, reason=reason))) == ["reason"]
    assert not ApiKey.objects.exists()


def test_third_usable_key_of_a_kind_is_refused(client: Client, brand: Brand) -> None:
    for _ in range(2):
        shown_key(add_key(client, brand))

    assert list(errors(add_key(client, brand))) == ["kind"]
    shown_key(add_key(client, brand, kind="app"))


def test_key_that_has_ended_before_it_began_is_refused(client: Client, brand: Brand) -> None:
    refused = add_key(client, brand, expires_at_0="2020-01-01", expires_at_1="00:00")

    assert list(errors(refused)) == ["expires_at"]


def test_revoked_key_opens_nothing(client: Client, brand: Brand) -> None:
    key, its_text = stored_key(brand)
    its = address("brands.apikey", "revoke", key.pk)
    assert its in text(client.get(address("brands.apikey", "change", key.pk)))
    assert "rejected from now on" in text(client.get(its))
    assert opens(its_text)

    client.post(its, {"reason": "Lost a laptop"})

    assert not opens(its_text)
    history = text(client.get(address("brands.apikey", "history", key.pk)))
    assert "Revoked" in history
    assert "Lost a laptop" in history
    assert client.post(its, {"reason": "again"}).status_code == 403


def test_revoking_asks_why(client: Client, brand: Brand) -> None:
    key, its_text = stored_key(brand)

    refused = client.post(address("brands.apikey", "revoke", key.pk), {"reason": " "})

    assert list(refused.context["form"].errors) == ["reason"]
    assert opens(its_text)


def test_rotated_key_and_its_successor_are_both_usable_for_a_while(client: Client, brand: Brand) -> None:
    old, old_text = stored_key(brand)

    answer = client.post(address("brands.apikey", "rotate", old.pk), {"hours": 24, "reason": "Yearly"})

    new_text = shown_key(answer)
    assert "no-store" in answer["Cache-Control"]
    assert (opens(old_text), opens(new_text)) == (True, True)
    old.refresh_from_db()
    assert old.expires_at is not None
    assert timedelta(hours=23) < old.expires_at - timezone.now() <= timedelta(hours=24)
    entries = AuditLogEntry.objects.filter(reason="Yearly")
    assert {entry.row_id for entry in entries} == {str(pk) for pk in ApiKey.objects.values_list("pk", flat=True)}
    assert new_text not in str(entries.values_list())


def test_rotation_can_end_the_old_key_at_once(client: Client, brand: Brand) -> None:
    old, old_text = stored_key(brand)

    new_text = shown_key(client.post(address("brands.apikey", "rotate", old.pk), {"hours": 0, "reason": "Leaked"}))

    assert (opens(old_text), opens(new_text)) == (False, True)


def test_rotation_sent_twice_makes_one_successor(client: Client, brand: Brand) -> None:
    old, _ = stored_key(brand)
    sent = {"hours": 24, "reason": "Yearly"}
    its = address("brands.apikey", "rotate", old.pk)
    client.post(its, sent)
    entries = AuditLogEntry.objects.count()

    again = client.post(its, sent)

    assert "2 usable hub keys" in str(again.context["form"].errors)
    assert (ApiKey.objects.count(), AuditLogEntry.objects.count()) == (2, entries)


@pytest.mark.parametrize(("sent", "field"), [({"hours": 5}, "hours"), ({"reason": ""}, "reason")])
def test_rotation_that_cannot_be_is_refused(client: Client, brand: Brand, sent: dict[str, Any], field: str) -> None:
    old, _ = stored_key(brand)

    refused = client.post(address("brands.apikey", "rotate", old.pk), {"hours": 1, "reason": "x", **sent})

    assert list(refused.context["form"].errors) == [field]
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("what", ["rotate", "revoke"])
def test_keys_are_ended_by_owners_of_their_brand_only(client: Client, brand: Brand, what: str) -> None:
    key, opening = stored_key(brand)
    theirs, theirs_opening = stored_key(factories.brand())
    sent = {"hours": 0, "reason": "x"}

    assert client.get(address("brands.apikey", what, theirs.pk)).status_code == 404
    assert client.post(address("brands.apikey", what, theirs.pk), sent).status_code == 404
    manager = browser(staff(brand, role="manager"))
    assert manager.post(address("brands.apikey", what, key.pk), sent).status_code == 403
    assert address("brands.apikey", what, key.pk) not in text(manager.get(address("brands.apikey", "change", key.pk)))
    assert opens(opening)
    assert opens(theirs_opening)


def test_key_cannot_be_changed(client: Client, brand: Brand) -> None:
    key, _ = api_keys.create(brand=brand, kind="app", name="Shop", at=timezone.now())

    assert client.post(address("brands.apikey", "change", key.pk), {"kind": "hub"}).status_code == 403
    assert ApiKey.objects.get(pk=key.pk).kind == "app"


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
        told = [errors(assign_role(client, brand, person, **sent)) for person in (customer, shared, working)]
        assert told == [told[0]] * 3
        assert list(told[0]) == ["user"]
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


def save_hostnames(client: Client, brand: Brand, *rows: dict[str, Any]) -> Any:
    """As the operator: a brand that could take any hostname could take another's, or the API's own."""
    client.force_login(factories.user(is_staff=True, is_superuser=True))
    its = address("brands.brand", "change", brand.pk)
    sent = {name: value for name, value in form_of(client.get(its)).items() if not name.startswith("hostnames-")}
    stored = sum("id" in row for row in rows)
    sent |= {"hostnames-TOTAL_FORMS": len(rows), "hostnames-INITIAL_FORMS": stored}
    for number, row in enumerate(rows):
        sent |= {f"hostnames-{number}-{name}": value for name, value in {"brand": brand.pk, **row}.items()}
    return client.post(its, sent)


def test_another_hostname_becomes_the_primary_one(client: Client, brand: Brand) -> None:
    old = brand.hostnames.get()

    saved = save_hostnames(
        client,
        brand,
        {"id": old.pk, "hostname": old.hostname},
        {"hostname": "new.example.com", "is_primary": "on"},
    )

    assert saved.status_code == 302
    assert dict(brand.hostnames.values_list("hostname", "is_primary")) == {old.hostname: False, "new.example.com": True}


def test_primary_hostname_that_is_untouched_stays_primary(client: Client, brand: Brand) -> None:
    old = brand.hostnames.get()

    save_hostnames(
        client, brand, {"id": old.pk, "hostname": old.hostname, "is_primary": "on"}, {"hostname": "new.example.com"}
    )

    assert dict(brand.hostnames.values_list("hostname", "is_primary")) == {old.hostname: True, "new.example.com": False}


@pytest.mark.parametrize("hostname", ["Upper.example.com", "https://x.example.com", "x y", "taken.example.com", ""])
def test_hostnames_that_cannot_be_are_refused(client: Client, brand: Brand, hostname: str) -> None:
    factories.brand(hostname="taken.example.com")

    refused = save_hostnames(client, brand, {"hostname": hostname, "is_primary": "on"})

    assert refused.status_code == 200
    assert BrandHostname.objects.filter(brand=brand).count() == 1


def test_two_primary_hostnames_are_one_too_many(client: Client, brand: Brand) -> None:
    refused = save_hostnames(
        client,
        brand,
        {"hostname": "one.example.com", "is_primary": "on"},
        {"hostname": "two.example.com", "is_primary": "on"},
    )

    assert refused.status_code == 200
    assert "Only one hostname" in text(refused)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "localtime", "Factory", "+02", ""])
def test_time_zone_must_be_one(client: Client, brand: Brand, zone: str) -> None:
    its = address("brands.brand", "change", brand.pk)

    refused = client.post(its, {**form_of(client.get(its)), "time_zone": zone})

    assert list(errors(refused)) == ["time_zone"]


def test_time_zone_must_be_one_that_the_database_knows(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    monkeypatch.setattr("brands.models.brand_fields.available_timezones", lambda: {"Europe/Berlin", "Mars/Olympus"})

    validate_time_zone("Europe/Berlin")
    with pytest.raises(ValidationError):
        validate_time_zone("Mars/Olympus")


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


@pytest.mark.parametrize(("query", "status"), [("s=auth", 200), ("s=", 200), ("s=a&page=x", 404), ("s=a&page=99", 404)])
def test_page_search_answers_mistyped_page_numbers(rf: Any, query: str, status: int) -> None:
    request = rf.get(f"{reverse('admin:search')}?{query}")
    request.user = factories.user(is_staff=True, is_superuser=True)

    if status == 404:
        with pytest.raises(Http404):
            PortalSite().search(request)
    else:
        assert PortalSite().search(request).status_code == status


def test_name_is_the_operators_to_change(brand):
    """Mails come in it: an owner could have written in another brand's."""
    page = address("brands.brand", "change", brand.pk)
    owner, operator = browser(staff(brand)), browser(staff(is_superuser=True))
    before = brand.name

    owner.post(page, {**form_of(owner.get(page)), "name": "Northwind Coffee"})
    brand.refresh_from_db()
    assert brand.name == before

    operator.post(page, {**form_of(operator.get(page)), "name": "Acme again"})
    brand.refresh_from_db()
    assert brand.name == "Acme again"


def test_slug_is_the_operators_to_change(brand):
    page = address("brands.brand", "change", brand.pk)
    owner, operator = browser(staff(brand)), browser(staff(is_superuser=True))
    before = brand.slug

    owner.post(page, {**form_of(owner.get(page)), "slug": "another-tenant"})
    brand.refresh_from_db()
    assert brand.slug == before

    operator.post(page, {**form_of(operator.get(page)), "slug": "renamed"})
    brand.refresh_from_db()
    assert brand.slug == "renamed"


@pytest.mark.parametrize(("role", "may"), [("owner", True), ("manager", False), ("printer", False)])
def test_who_may_ask_for_confirmed_addresses_and_that_it_is_audited(brand: Brand, role: str, may: bool) -> None:
    its, person = address("brands.brand", "change", brand.pk), staff(brand, role=role)
    filled = {**form_of(browser(staff(brand)).get(its)), "requires_confirmed_email": "on"}

    browser(person).post(its, filled)

    brand.refresh_from_db()
    assert brand.requires_confirmed_email == may
    told = AuditLogEntry.objects.filter(brand=brand, user=person, kind="brands.brand")
    assert list(told.values_list("changes", flat=True)) == [{"requires_confirmed_email": [False, True]}] * may


def test_form_proposes_to_read_and_no_more(client: Client) -> None:
    page = client.get(address("brands.apikey", "add"))

    assert page.context["adminform"].form["scopes"].initial == ["read"]


def test_new_key_has_the_chosen_scopes_and_networks(client: Client, brand: Brand) -> None:
    add_key(client, brand, scopes=["till", "read"], networks="203.0.113.7\r\n2001:db8::/48")

    made = ApiKey.objects.get()
    assert (made.scopes, made.networks) == (["read", "till"], ["203.0.113.7/32", "2001:db8::/48"])


def test_hub_key_without_scopes_is_refused(client: Client, brand: Brand) -> None:
    assert list(errors(add_key(client, brand, scopes=[]))) == ["scopes"]
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("networks", ["here", "203.0.113.0/33", "203.0.113.7/24", "1" * 100, "\0"])
def test_what_is_no_network_is_named(client: Client, brand: Brand, networks: str) -> None:
    assert list(errors(add_key(client, brand, networks=networks))) == ["networks"]
    assert not ApiKey.objects.exists()


def test_page_of_a_key_shows_its_latest_calls(client: Client, brand: Brand) -> None:
    key, secret = api_keys.create(brand=brand, kind="hub", name="Shop", at=timezone.now(), scopes=["read"])
    Api(brand, {"api-key": secret}).get("brand/levels")

    page = client.get(address("brands.apikey", "change", key.pk)).content.decode()

    assert "GET /api/v1/brand/levels" in page
