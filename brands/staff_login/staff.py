"""A brand's staff: the only code that assigns and removes roles, and deactivates users. Each brand keeps an owner."""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from brands.identity import login_throttle, tokens
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from brands.staff_login import invitations, sessions
from core import languages
from core.db import advisory_locks, row_guard
from core.db.advisory_locks import Lock
from core.errors import Invalid


def assign_role(*, user: User, brand: Brand, role: str, password: str = "", at: datetime) -> StaffRole:
    """Give a user a role for a brand. A user without access to the portal gets it, with `password`.

    A customer may have registered with an address that is not theirs, so the password that they chose must not give
    access to the portal. Raises Invalid if `password` is missing.
    """
    with transaction.atomic():
        lock_ownership()
        made = StaffRole.objects.create(user=user, brand=brand, role=role)
        if not User.objects.filter(pk=user.pk, is_staff=True).exists():
            if not password:
                raise Invalid(_("Set a password. This is the person's first role."), details={"field": "password1"})
            User.objects.filter(pk=user.pk).update(is_staff=True)
            set_password(user=user, password=password, at=at)
    return made


def set_password(*, user: User, password: str, at: datetime) -> None:
    """Set a new password, which passed the validators, and end all of the user's sessions."""
    with row_guard.disabled("a login is one for all brands, and so are its sessions"), transaction.atomic():
        user.set_password(password)
        user.save(update_fields=["password"])
        tokens.revoke_all(user=user, at=at)
        sessions.end_other_sessions(user=user, current_key=None)
    login_throttle.forgive(email=user.email)


def prove_address(*, user: User, at: datetime) -> None:
    """The user opened a link that was sent to their address: points that waited for this are credited."""
    with transaction.atomic():
        if User.objects.filter(pk=user.pk, email_verified_at=None).update(email_verified_at=at):
            import_string(settings.ADDRESS_CONFIRMED)(user_id=user.pk)


def change_role(*, staff_role: StaffRole, role: str) -> None:
    """Change the role. Raises Invalid if the brand would lose its last owner."""
    with transaction.atomic():
        lock_ownership()
        if role != StaffRole.Role.OWNER:
            require_an_owner(brand_ids=[staff_role.brand_id], without=staff_role.user_id, field="role")
            end_invitations_of(staff_role)
        staff_role.role = role
        staff_role.save(update_fields=["role"])


def remove_staff_role(*, staff_role: StaffRole) -> None:
    """Remove the role. Raises Invalid if the brand would lose its last owner."""
    with transaction.atomic():
        lock_ownership()
        require_an_owner(brand_ids=[staff_role.brand_id], without=staff_role.user_id)
        end_invitations_of(staff_role)
        staff_role.delete()


def end_invitations_of(staff_role: StaffRole) -> None:
    """Revoke the invitations of a former owner, so that no link in a mailbox lets anyone join later."""
    invitations.revoke_of_inviter(user_id=staff_role.user_id, brand_id=staff_role.brand_id, at=timezone.now())


def save_account(*, user: User, fields: Iterable[str]) -> None:
    """Store `fields` of a user. Raises Invalid if a deactivation leaves a brand without an owner.

    A deactivated user stays logged out after a reactivation. A new address counts as unproved.
    """
    if "email" in fields:
        user.email_verified_at, fields = None, {*fields, "email_verified_at"}
    with transaction.atomic():
        if not (user.is_active and user.is_staff):
            lock_ownership()
            check_switch_off(user, field="is_staff" if user.is_active else "is_active")
            sessions.end_other_sessions(user=user, current_key=None)
            with row_guard.disabled("who is switched off is so for all brands"):
                invitations.revoke_of_inviter(user_id=user.pk, brand_id=None, at=timezone.now())
        user.save(update_fields=set(fields))
        if not user.is_active:
            with row_guard.disabled("a login is one for all brands, and so are its sessions"):
                tokens.revoke_all(user=user, at=timezone.now())


def check_switch_off(user: User, *, field: str) -> None:
    """Raises Invalid, naming `field`, if `user`, who is about to lose access, is a brand's last owner."""
    owned = user.staff_roles.filter(role=StaffRole.Role.OWNER).values_list("brand_id", flat=True)
    require_an_owner(brand_ids=owned, without=user.pk, field=field)


def require_an_owner(*, brand_ids: Iterable[int], without: int, field: str = "") -> None:
    """Raises Invalid for a brand whose only owner is the user with the id `without`."""
    for brand in Brand.objects.filter(pk__in=brand_ids):
        if set(owners_of(brand)) == {without}:
            message = _("%(brand)s would have no owner left. Make someone else an owner first.") % {"brand": brand}
            raise Invalid(message, details={"field": field} if field else None)


def owners_of(brand: Brand) -> Iterable[int]:
    """The ids of the brand's owners who may log in."""
    able = StaffRole.objects.filter(role=StaffRole.Role.OWNER, user__is_active=True, user__is_staff=True)
    return able.filter(brand=brand).values_list("user_id", flat=True)


def lock_ownership() -> None:
    """Wait for concurrent changes of roles, and block others until this transaction ends.

    Two owners who remove each other's role at the same time would otherwise both see the other one remain. Take it
    before the lock of an invitation: who loses a role also loses the invitations that they sent.
    """
    advisory_locks.lock(Lock.OWNERSHIP)


def set_language(*, user: User, language: str) -> None:
    """Set the user's portal language for all devices."""
    User.objects.filter(pk=user.pk).update(portal_language=language)


def language_of(user: User | None, *, brand_id: int | None = None) -> str:
    """The language for messages to a member of staff: the one they chose for the portal, else that of `brand_id` or of
    their first brand, else the installation's."""
    if user is not None and (chosen := languages.supported(user.portal_language)):
        return chosen
    if user is not None and brand_id is None:
        brand_id = user.staff_roles.order_by("pk").values_list("brand_id", flat=True).first()
    return settings.LANGUAGE_CODE if brand_id is None else languages.reader()(brand_id, None)
