"""Membership of a brand's programme: finding customers and enrolling them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from brands.models.people import User
from brands.models.tenants import Brand
from core import json_values
from core.db import row_guard
from core.db.statements import command, query, query_values
from core.errors import Invalid
from events import publishing
from loyalty.errors import MemberBlocked, MemberMerged
from loyalty.integrations import webhook_events
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.webhooks import WebhookType
from loyalty.points.ledger import TRANSFERRED

GOOD_STANDING_DAYS = 7


@dataclass(frozen=True, slots=True)
class Enrolment:
    """An account, and whether member.enrolled was published for it."""

    account: int
    is_published: bool


ENROL = query(
    "loyalty/points/sql/enrol.sql",
    returns=Enrolment,
    insert_events=publishing.insert_events(source_cte="subscribed"),
)

ENROL_MANY = query_values("loyalty/points/sql/enrol_many.sql", "account")
LOCK_ACCOUNTS = query_values("loyalty/points/sql/lock_accounts.sql", "user_point_id")
SET_EXTERNAL_IDS = command("loyalty/points/sql/set_external_ids.sql")


@dataclass(frozen=True, slots=True)
class NewMember:
    """A person to enrol, by the user's address, with their names at the brand."""

    address: str
    external_id: str
    first_name: str
    last_name: str


def enrol(*, user_id: int, brand_id: int, at: datetime) -> int:
    """Return the customer's user_point_id at the brand. Creates the account if there is none.

    One statement, which publishes member.enrolled too.
    """
    kind = WebhookType.MEMBER_ENROLLED
    event = webhook_events.webhook_event(
        kind, {"enrolled_at": json_values.iso(at)}, brand_id=brand_id, user_id=user_id, at=at
    )
    enrolment = ENROL.first(
        user_id=user_id,
        brand_id=brand_id,
        at=at,
        webhook_type=kind.value,
        **publishing.insertion(messages=[event], brand_id=brand_id, at=at),
    )
    assert enrolment is not None  # noqa: S101 - the upsert always returns its row
    if enrolment.is_published:
        publishing.wake_after_commit([event])
    return enrolment.account


def enrol_many(*, brand_id: int, newcomers: Sequence[NewMember], at: datetime) -> list[int]:
    """Create accounts for people without one at the brand, in one statement that publishes nothing. Returns the ids.

    Call in a transaction, without the row guard: the people may have registered elsewhere.
    """
    rows: list[int] = ENROL_MANY.all(
        brand_id=brand_id,
        addresses=[each.address for each in newcomers],
        external_ids=[each.external_id for each in newcomers],
        first_names=[each.first_name for each in newcomers],
        last_names=[each.last_name for each in newcomers],
        at=at,
    )
    return rows


def set_external_ids(*, external_ids: Mapping[int, str], at: datetime) -> None:
    """Set the external ids of those of these accounts that have none."""
    SET_EXTERNAL_IDS.run(accounts=list(external_ids), external_ids=list(external_ids.values()), at=at)


def lock(*, account: int) -> None:
    """Block other changes of the account until the end of the caller's transaction."""
    UserPoints.objects.select_for_update(no_key=True).only("pk").get(pk=account)


def lock_many(*, accounts: Sequence[int]) -> None:
    """Lock these accounts in the order of their ids, like all code that locks several."""
    LOCK_ACCOUNTS.all(accounts=list(accounts))


def current_account(*, brand_id: int, user_id: int) -> UserPoints | None:
    """The customer's account, or the account into which it was merged, which is never merged itself."""
    account = account_of(brand_id=brand_id, user_id=user_id)
    if account is not None and account.merged_into_id is not None:
        return UserPoints.objects.get(pk=account.merged_into_id)
    return account


def lock_current(*, brand_id: int, user_id: int) -> UserPoints | None:
    """Like current_account, and locked until the end of the caller's transaction."""
    while account := current_account(brand_id=brand_id, user_id=user_id):
        lock(account=account.pk)
        account.refresh_from_db()
        if account.merged_into_id is None:
            return account
    return None


def is_merged(*, brand_id: int, user_id: int, into: int) -> bool:
    """Whether the user's account was merged into the account `into`."""
    return UserPoints.objects.filter(brand_id=brand_id, user_id=user_id, merged_into=into).exists()


def users_merged_into(*, account: UserPoints) -> list[int]:
    """The users whose accounts were merged into this one, except erased ones."""
    rows = UserPoints.objects.filter(pk__in=account.merged_from or (), user__is_active=True)
    return list(rows.order_by("pk").values_list("user", flat=True))


def set_merged(*, source: UserPoints, target: UserPoints) -> None:
    """End the account `source` and lead it to `target`. Called by merges, with both locked."""
    UserPoints.objects.filter(pk=source.pk).update(status=UserPoints.Status.MERGED, merged_into=target)
    UserPoints.objects.filter(pk=target.pk).update(merged_from=[*(target.merged_from or ()), source.pk])


def set_separate(*, source: UserPoints, target: UserPoints) -> None:
    """Separate both accounts again. Called by the undo of a merge, with both locked."""
    remaining = [account for account in target.merged_from or () if account != source.pk]
    UserPoints.objects.filter(pk=target.pk).update(merged_from=remaining or None)
    UserPoints.objects.filter(pk=source.pk).update(status=UserPoints.Status.ACTIVE, merged_into=None)


def reject_closed(status: str) -> None:
    """Raises MemberBlocked for a blocked account, and MemberMerged for a merged one."""
    if status == UserPoints.Status.MERGED:
        raise MemberMerged
    if status == UserPoints.Status.BLOCKED:
        raise MemberBlocked


def lock_named(*, user_id: int, brand_id: int) -> list[int]:
    """Lock the person's accounts at this brand and at every brand that corrected their name. Returns the ids.

    Call in a transaction, before locking the person: corrections lock an account first too. If another brand makes its
    first correction after this, it counts as later than the customer's own change.
    """
    with row_guard.disabled("a customer's own name holds at every brand"):
        corrected = Q(first_name__isnull=False) | Q(last_name__isnull=False) | Q(brand=brand_id)
        rows = UserPoints.objects.filter(corrected, user_id=user_id)
        return list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))


def lock_unconfirmed(*, user_id: int) -> bool:
    """Whether the person's address is unconfirmed. Locks it in this state until the end of the caller's transaction."""
    unconfirmed = User.objects.select_for_update(no_key=True).filter(pk=user_id, email_verified_at=None)
    return bool(unconfirmed.values_list("pk"))


def find(*, brand: Brand, user_id: int) -> User | None:
    """The brand's customer with this id, enrolled or registered there. Never finds customers of other brands."""
    here = Q(points_rows__brand=brand) | Q(registered_brand=brand)
    return User.objects.filter(here, pk=user_id, is_active=True).distinct().first()


def account_of(*, brand_id: int, user_id: int) -> UserPoints | None:
    return UserPoints.objects.filter(brand_id=brand_id, user_id=user_id).first()


def names_of(user: User, brand_id: int) -> tuple[str, str]:
    """First and last name as the brand knows them."""
    account = account_of(brand_id=brand_id, user_id=user.pk)
    if account is None:
        return user.first_name, user.last_name
    account.user = user
    return account.names


def set_names(*, account: UserPoints, first_name: str, last_name: str, at: datetime) -> None:
    """Set a member's name at this brand. Called by corrections, in its transaction."""
    rows = UserPoints.objects.filter(pk=account.pk)
    rows.update(first_name=first_name, last_name=last_name, updated_at=at)


def clear_names(*, accounts: Collection[int], names: Iterable[str], at: datetime) -> None:
    """Clear staff corrections of these `names` in the locked `accounts`, because the customer entered the names."""
    with row_guard.disabled("a customer's own name holds at every brand"):
        for name in names:
            corrected = UserPoints.objects.filter(pk__in=accounts).exclude(**{name: None})
            corrected.update(**{name: None}, updated_at=at)


def set_status(*, accounts: Iterable[UserPoints], status: UserPoints.Status, at: datetime) -> list[UserPoints]:
    """Block or unblock accounts. Returns those that this changed. Called by blocking, in its transaction.

    Skips erased members, who stay blocked.
    """
    chosen = {account.pk: account for account in accounts}
    remaining = UserPoints.objects.filter(pk__in=chosen).exclude(status=status)
    with transaction.atomic():
        # Locks in the same order as accruals and the expiry of points. Skips accounts that others have changed already.
        remaining = remaining.exclude(status=UserPoints.Status.MERGED)  # undoing the merge reopens it
        locked = list(remaining.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
        # In a statement of its own: one that waited for the locks would see the users as before an erasure.
        members = UserPoints.objects.filter(pk__in=locked, user__is_active=True).order_by("pk")
        changed = list(members.values_list("pk", flat=True))
        UserPoints.objects.filter(pk__in=changed).update(status=status, updated_at=at)
    return [chosen[pk] for pk in changed]


def set_external_id(*, account: UserPoints, external_id: str, at: datetime) -> None:
    """Store the member's id in the brand's own systems, or "" for none. Raises Invalid if another member has it."""
    try:
        with transaction.atomic():
            UserPoints.objects.filter(pk=account.pk).update(external_id=external_id, updated_at=at)
    except IntegrityError as error:
        message = _("Another member of this brand has this external id.")
        raise Invalid(message, details={"field": "external_id"}) from error


def touch(*, account: int, at: datetime) -> None:
    """Force accruals that read the account earlier to read it again before they write."""
    UserPoints.objects.filter(pk=account).update(updated_at=at)


def touch_member(*, user_id: int, brand_id: int, at: datetime) -> bool:
    """Mark the person's data at the brand as changed, for systems with a copy. Locks the account.

    Returns False if the person is not a member.
    """
    return bool(UserPoints.objects.filter(user_id=user_id, brand_id=brand_id).update(updated_at=at))


def reassign_to_pseudonym(*, user_id: int, brand_id: int, to: int, at: datetime) -> None:
    """For the erasure of personal data: reassign the account to the pseudonym, which earns and redeems nothing."""
    rows = UserPoints.objects.filter(user_id=user_id, brand_id=brand_id)
    rows.exclude(status=UserPoints.Status.MERGED).update(status=UserPoints.Status.BLOCKED)
    rows.update(
        user_id=to,
        external_id="",
        first_name=None,
        last_name=None,
        updated_at=at,
    )


def has_earned(*, user_id: int, brand_id: int, before: datetime) -> bool:
    """Whether the brand had credited the customer by then. Points from other members do not count."""
    lines = LoyaltyTransaction.objects.filter(user_point__user_id=user_id, user_point__brand_id=brand_id)
    earned = (LoyaltyTransaction.Reason.EARNED, LoyaltyTransaction.Reason.RELEASED)
    own = lines.exclude(reason_id__startswith=TRANSFERRED)
    return own.filter(reason__in=earned, created_at__lte=before).exists()


def is_established(*, user_id: int, brand_id: int, at: datetime) -> bool:
    """Whether the customer is no longer new: registered GOOD_STANDING_DAYS ago, or earned points over a day ago."""
    joined = at - timedelta(days=GOOD_STANDING_DAYS)
    if User.objects.filter(pk=user_id, date_joined__lte=joined).exists():
        return True
    return has_earned(user_id=user_id, brand_id=brand_id, before=at - timedelta(days=1))
