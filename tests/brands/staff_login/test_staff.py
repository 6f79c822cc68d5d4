"""Who runs a brand: each keeps an owner, whatever owners and operators do, also at the same time."""

from typing import Any

import pytest
from django.contrib.messages import get_messages

from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from brands.staff_login import staff as people
from core.errors import Invalid
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.portal import address, browser, errors, form_of, staff

ROUNDS = 20


def of(user: User, brand: Brand) -> StaffRole:
    return StaffRole.objects.get(user=user, brand=brand)


def owners(brand: Brand) -> list[int]:
    return sorted(people.owners_of(brand))


@pytest.mark.django_db
class TestRules:
    def test_last_owner_keeps_the_role(self, brand: Brand, owner: User) -> None:
        with pytest.raises(Invalid, match="no owner left"):
            people.change_role(staff_role=of(owner, brand), role="manager")
        with pytest.raises(Invalid, match="no owner left"):
            people.remove_staff_role(staff_role=of(owner, brand))

        assert owners(brand) == [owner.pk]

    def test_one_of_two_owners_may_go(self, brand: Brand, owner: User) -> None:
        other = staff(brand)

        people.change_role(staff_role=of(owner, brand), role="manager")

        assert owners(brand) == [other.pk]

    @pytest.mark.parametrize("lacks", ["is_active", "is_staff"])
    def test_owner_who_cannot_log_in_is_none(self, brand: Brand, owner: User, lacks: str) -> None:
        staff(brand)
        User.objects.exclude(pk=owner.pk).update(**{lacks: False})

        with pytest.raises(Invalid):
            people.remove_staff_role(staff_role=of(owner, brand))

    @pytest.mark.parametrize("field", ["is_active", "is_staff"])
    def test_last_owner_is_not_switched_off(self, owner: User, field: str) -> None:
        setattr(owner, field, False)

        with pytest.raises(Invalid) as refused:
            people.save_account(user=owner, fields=[field])

        assert refused.value.details == {"field": field}
        assert User.objects.filter(pk=owner.pk, is_active=True, is_staff=True).exists()

    def test_manager_of_a_brand_without_an_owner_may_go(self, brand: Brand) -> None:
        manager = staff(brand, role="manager")

        people.remove_staff_role(staff_role=of(manager, brand))

        assert not brand.staff_roles.exists()


@pytest.mark.django_db
class TestPages:
    def test_last_owners_role_is_refused_at_its_field(self, brand: Brand, owner: User) -> None:
        its = address("brands.staffrole", "change", of(owner, brand).pk)
        client = browser(owner)

        refused = client.post(its, {**form_of(client.get(its)), "role": "support"})

        assert list(errors(refused)) == ["role"]
        assert owners(brand) == [owner.pk]

    def test_last_owners_membership_is_not_deleted(self, brand: Brand, owner: User) -> None:
        its = address("brands.staffrole", "delete", of(owner, brand).pk)

        answer = browser(owner).post(its, {"post": "yes"})

        assert [str(message) for message in get_messages(answer.wsgi_request)] == [
            f"{brand} would have no owner left. Make someone else an owner first."
        ]
        assert owners(brand) == [owner.pk]

    @pytest.mark.parametrize("field", ["is_active", "is_staff"])
    def test_operator_does_not_switch_off_the_last_owner(self, brand: Brand, owner: User, field: str) -> None:
        client = browser(factories.user(is_staff=True, is_superuser=True))
        its = address("brands.user", "change", owner.pk)
        sent = {name: value for name, value in form_of(client.get(its)).items() if name != field}

        assert list(errors(client.post(its, sent))) == [field]
        assert owners(brand) == [owner.pk]

    def test_form_that_somebody_overtook_says_so(
        self, brand: Brand, owner: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The other owner goes between this form's check and its save."""
        other = staff(brand)
        client = browser(owner)
        its = address("brands.staffrole", "change", of(owner, brand).pk)
        sent = {**form_of(client.get(its)), "role": "manager"}
        wait = people.lock_ownership
        monkeypatch.setattr(people, "lock_ownership", lambda: (wait(), of(other, brand).delete()))

        answer = client.post(its, sent)

        assert answer.status_code == 302
        assert "no owner left" in str(next(iter(get_messages(answer.wsgi_request))))
        assert of(owner, brand).role == "owner"


def brands_left_alone(take_away: Any) -> int:
    """Of some brands with two owners each, who take each other's role at once, how many have no owner then."""
    left = 0
    for _ in range(ROUNDS):
        brand = factories.brand()
        pair = [of(staff(brand), brand) for _ in range(2)]
        at_once(take_away, pair)
        left += not owners(brand)
    return left


def demote(staff_role: StaffRole) -> None:
    people.change_role(staff_role=staff_role, role="manager")


def leave(staff_role: StaffRole) -> None:
    people.remove_staff_role(staff_role=staff_role)


def switch_off(staff_role: StaffRole) -> None:
    user = User.objects.get(pk=staff_role.user_id)
    user.is_active = False
    people.save_account(user=user, fields=["is_active"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("take_away", [demote, leave, switch_off])
def test_two_owners_who_go_at_once_leave_one_behind(take_away: Any) -> None:
    assert brands_left_alone(take_away) == 0


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_both_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "lock_ownership", lambda: None)

    assert brands_left_alone(demote) > 0
