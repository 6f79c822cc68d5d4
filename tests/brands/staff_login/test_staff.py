"""Each brand always has an owner, whatever owners and operators do, even concurrently."""

from typing import Any

import pytest
from django.contrib.messages import get_messages

from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from brands.staff_login import staff as people
from core.errors import Invalid
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.portal import address, browser, errors, form_of, staff

ROUNDS = 20


def role_of(user: User, brand: Brand) -> StaffRole:
    return StaffRole.objects.get(user=user, brand=brand)


def owners(brand: Brand) -> list[int]:
    return sorted(people.owners_of(brand))


@pytest.mark.django_db
class TestRules:
    def test_last_owners_role_can_neither_be_changed_nor_removed(self, brand: Brand, owner: User) -> None:
        with pytest.raises(Invalid, match="no owner left"):
            people.change_role(staff_role=role_of(owner, brand), role="manager")
        with pytest.raises(Invalid, match="no owner left"):
            people.remove_staff_role(staff_role=role_of(owner, brand))

        assert owners(brand) == [owner.pk]

    def test_one_of_two_owners_can_get_another_role(self, brand: Brand, owner: User) -> None:
        other = staff(brand)

        people.change_role(staff_role=role_of(owner, brand), role="manager")

        assert owners(brand) == [other.pk]

    @pytest.mark.parametrize("lacks", ["is_active", "is_staff"])
    def test_owner_who_cannot_log_in_does_not_count(self, brand: Brand, owner: User, lacks: str) -> None:
        staff(brand)
        User.objects.exclude(pk=owner.pk).update(**{lacks: False})

        with pytest.raises(Invalid):
            people.remove_staff_role(staff_role=role_of(owner, brand))

    @pytest.mark.parametrize("field", ["is_active", "is_staff"])
    def test_last_owner_cannot_be_deactivated(self, owner: User, field: str) -> None:
        setattr(owner, field, False)

        with pytest.raises(Invalid) as raised:
            people.save_account(user=owner, fields=[field])

        assert raised.value.details == {"field": field}
        assert User.objects.filter(pk=owner.pk, is_active=True, is_staff=True).exists()

    def test_manager_of_a_brand_without_an_owner_can_be_removed(self, brand: Brand) -> None:
        manager = staff(brand, role="manager")

        people.remove_staff_role(staff_role=role_of(manager, brand))

        assert not brand.staff_roles.exists()


@pytest.mark.django_db
class TestPages:
    def test_change_of_the_last_owners_role_is_rejected_at_its_field(self, brand: Brand, owner: User) -> None:
        url = address("brands.staffrole", "change", role_of(owner, brand).pk)
        client = browser(owner)

        rejected = client.post(url, {**form_of(client.get(url)), "role": "support"})

        assert list(errors(rejected)) == ["role"]
        assert owners(brand) == [owner.pk]

    def test_last_owners_role_is_not_deleted(self, brand: Brand, owner: User) -> None:
        url = address("brands.staffrole", "delete", role_of(owner, brand).pk)

        answer = browser(owner).post(url, {"post": "yes"})

        assert [str(message) for message in get_messages(answer.wsgi_request)] == [
            f"{brand} would have no owner left. Make someone else an owner first."
        ]
        assert owners(brand) == [owner.pk]

    @pytest.mark.parametrize("field", ["is_active", "is_staff"])
    def test_operator_cannot_deactivate_the_last_owner(self, brand: Brand, owner: User, field: str) -> None:
        client = browser(factories.user(is_staff=True, is_superuser=True))
        url = address("brands.user", "change", owner.pk)
        form_data = {name: value for name, value in form_of(client.get(url)).items() if name != field}

        assert list(errors(client.post(url, form_data))) == [field]
        assert owners(brand) == [owner.pk]

    def test_form_shows_the_error_of_a_concurrent_change(
        self, brand: Brand, owner: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The other owner leaves between this form's check and its save."""
        other = staff(brand)
        client = browser(owner)
        url = address("brands.staffrole", "change", role_of(owner, brand).pk)
        form_data = {**form_of(client.get(url)), "role": "manager"}
        wait = people.lock_ownership
        monkeypatch.setattr(people, "lock_ownership", lambda: (wait(), role_of(other, brand).delete()))

        answer = client.post(url, form_data)

        assert answer.status_code == 302
        assert "no owner left" in str(next(iter(get_messages(answer.wsgi_request))))
        assert role_of(owner, brand).role == "owner"


def count_brands_without_owner(remove_owner: Any) -> int:
    """Remove both owners of several brands concurrently, and return how many brands then have no owner."""
    ownerless = 0
    for _ in range(ROUNDS):
        brand = factories.brand()
        pair = [role_of(staff(brand), brand) for _ in range(2)]
        run_concurrently(remove_owner, pair)
        ownerless += not owners(brand)
    return ownerless


def demote(staff_role: StaffRole) -> None:
    people.change_role(staff_role=staff_role, role="manager")


def leave(staff_role: StaffRole) -> None:
    people.remove_staff_role(staff_role=staff_role)


def deactivate(staff_role: StaffRole) -> None:
    user = User.objects.get(pk=staff_role.user_id)
    user.is_active = False
    people.save_account(user=user, fields=["is_active"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("remove_owner", [demote, leave, deactivate])
def test_one_of_two_owners_removed_concurrently_stays(remove_owner: Any) -> None:
    assert count_brands_without_owner(remove_owner) == 0


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_both_owners_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "lock_ownership", lambda: None)

    assert count_brands_without_owner(demote) > 0
