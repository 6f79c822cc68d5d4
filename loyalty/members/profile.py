"""A customer's own profile: the only code that changes names at the customer's request. Publishes completed fields.

Names belong to the person, at all brands. Language, phone, birthday and notification preferences belong to one brand.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from brands.identity import users
from brands.models.people import User
from events import messages, publishing
from loyalty.members import change_events
from loyalty.models.accounts import UserPoints
from loyalty.notifications import preferences
from loyalty.notifications.preferences import Preferences, Switches
from loyalty.points import birthdays
from loyalty.points.accounts import clear_names, lock_named, names_of, touch_member
from loyalty.points.balance_events import update_passes

NAMES = ("first_name", "last_name")
ON_PASSES = (*NAMES, "language")  # of this brand; other brands' passes follow with their next change


@dataclass(frozen=True, slots=True)
class Profile:
    """A person as one brand knows them."""

    user: User
    preferences: Preferences
    names: tuple[str, str]
    birthday: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """The fields that can be filled in, and so completed."""
        return {
            "first_name": self.names[0],
            "last_name": self.names[1],
            "phone": self.preferences.phone,
            "language": self.preferences.language,
            "birthday": self.birthday,
        }


def read(*, user_id: int, brand_id: int) -> Profile:
    return as_known(User.objects.get(pk=user_id), preferences.read(user_id, brand_id), brand_id)


def as_known(user: User, preferences: Preferences, brand_id: int) -> Profile:
    return Profile(user, preferences, names_of(user, brand_id), birthdays.read(user.pk, brand_id))


def change(
    *, user_id: int, brand_id: int, fields: Mapping[str, str], switches: Switches | None, at: datetime
) -> Profile:
    """Change only the given `fields`. Filling a field that was empty may earn points.

    Raises Invalid, and TokenInvalid for an inactive user. Owns the transaction of the profile and its event. Locks
    accounts before the person, as corrections and erasures do.
    """
    with transaction.atomic():
        names = new_names(user_id=user_id, brand_id=brand_id, fields=fields)
        accounts = lock_named(user_id=user_id, brand_id=brand_id) if names else []
        is_member = touch_member(user_id=user_id, brand_id=brand_id, at=at)
        user = users.lock_user(user_id=user_id)
        before = as_known(user, preferences.read(user_id, brand_id), brand_id).fields
        for name, value in names.items():
            setattr(user, name, value)
        if names:
            user.save(update_fields=list(names))
            clear_names(accounts=accounts, names=names, at=at)
        choices = preferences.read(user_id, brand_id)
        if {"phone", "language"} & set(fields) or switches:
            choices = preferences.change(
                user_id,
                brand_id,
                at=at,
                language=fields.get("language"),
                phone=fields.get("phone"),
                switches=switches,
            )
        if "birthday" in fields:
            birthdays.change(user_id, brand_id, text=fields["birthday"], at=at)
        after = as_known(user, choices, brand_id)
        publish_changes(before, after, brand_id, at, is_member=is_member)
        if is_member and any(after.fields[name] != before[name] for name in ON_PASSES):
            member = UserPoints.objects.get(user=user_id, brand=brand_id)
            update_passes(member=member, what="profile", at=at)
    return after


def new_names(*, user_id: int, brand_id: int, fields: Mapping[str, str]) -> dict[str, str]:
    """The names in `fields` that differ from those that this brand shows.

    Forms and apps send back the whole profile. Without this check, a name corrected by the brand's staff would become
    the customer's own name, also at other brands.
    """
    names = {name: fields[name].strip() for name in NAMES if name in fields}
    user = User.objects.filter(pk=user_id).first() if names else None
    if user is None:
        return {}
    current = dict(zip(NAMES, names_of(user, brand_id), strict=True))
    return {name: value for name, value in names.items() if value != current[name].strip()}


def publish_changes(before: Mapping[str, str], after: Profile, brand_id: int, at: datetime, *, is_member: bool) -> None:
    """Publish the names of changed fields, without their values, which are private."""
    changed = [name for name, value in after.fields.items() if value != before[name]]
    if not changed:
        return
    completed = [name for name in changed if after.fields[name] and not before[name]]
    message = messages.NewEvent(
        kind="log-user-profile-update",
        arguments={"brand_id": brand_id, "user_id": after.user.pk},
        payload={"type": "profile", "changedFields": changed, "completedFields": completed},
        has_consumer=bool(completed),
    )
    publishing.publish(messages=[message], brand_id=brand_id, at=at)
    if is_member:
        change_events.publish(user_id=after.user.pk, brand_id=brand_id, changed=changed, at=at)
