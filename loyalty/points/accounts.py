"""Membership of a brand's programme: who its customers are, and enrolling them."""

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
    """An account, and whether member.enrolled was published of it."""

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
class Newcomer:
    """Somebody to enrol, by the address of a user, and what the brand calls them."""

    address: str
    external_id: str
    first_name: str
    last_name: str


def enrol(*, user_id: int, brand_id: int, at: datetime) -> int:
    """The customer's account at the brand, made now if there was none. Returns its user_point_id.

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


def enrol_many(*, brand_id: int, newcomers: Sequence[Newcomer], at: datetime) -> list[int]:
    """Accounts for people who have none at the brand, in one statement that publishes nothing. Returns them.

    Call in a transaction, outside of the guard: whoever registered elsewhere is enrolled too.
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
    """Note the numbers of these accounts in the brand's own systems, where none is noted."""
    SET_EXTERNAL_IDS.run(accounts=list(external_ids), external_ids=list(external_ids.values()), at=at)


def lock(*, account: int) -> None:
    """Make every other change of the account wait for the end of the caller's transaction."""
    UserPoints.objects.select_for_update(no_key=True).only("pk").get(pk=account)


def lock_many(*, accounts: Sequence[int]) -> None:
    """Lock these accounts in the order of their ids, in which everybody locks several."""
    LOCK_ACCOUNTS.all(accounts=list(accounts))


def current_account(*, brand_id: int, user_id: int) -> UserPoints | None:
    """The customer's account; where it was merged into another one, that one, which was merged into none."""
    account = account_of(brand_id=brand_id, user_id=user_id)
    if account is not None and account.merged_into_id is not None:
        return UserPoints.objects.get(pk=account.merged_into_id)
    return account


def lock_current(*, brand_id: int, user_id: int) -> UserPoints | None:
    """As current_account, locked as `lock` does: it goes on until the end of the caller's transaction."""
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
    """Whose accounts were merged into this one, and are not erased."""
    rows = UserPoints.objects.filter(pk__in=account.merged_from or (), user__is_active=True)
    return list(rows.order_by("pk").values_list("user", flat=True))


def set_merged(*, source: UserPoints, target: UserPoints) -> None:
    """The account `source` ends and leads to `target`. Called by merges, with both locked."""
    UserPoints.objects.filter(pk=source.pk).update(status=UserPoints.Status.MERGED, merged_into=target)
    UserPoints.objects.filter(pk=target.pk).update(merged_from=[*(target.merged_from or ()), source.pk])


def set_separate(*, source: UserPoints, target: UserPoints) -> None:
    """Both go on by themselves. Called by the undo of a merge, with both locked."""
    remaining = [account for account in target.merged_from or () if account != source.pk]
    UserPoints.objects.filter(pk=target.pk).update(merged_from=remaining or None)
    UserPoints.objects.filter(pk=source.pk).update(status=UserPoints.Status.ACTIVE, merged_into=None)


def reject_closed(status: str) -> None:
    """Raises MemberBlocked for an account that is blocked, MemberMerged for one that was merged."""
    if status == UserPoints.Status.MERGED:
        raise MemberMerged
    if status == UserPoints.Status.BLOCKED:
        raise MemberBlocked


def lock_named(*, user_id: int, brand_id: int) -> list[int]:
    """Lock the person's account at this brand, and at every other brand that corrected their name. Returns the ids.

    Call in a transaction, before the person is locked: corrections lock an account first too. A first correction that
    another brand makes after this counts as later than what the customer writes.
    """
    with row_guard.disabled("a customer's own name holds at every brand"):
        corrected = Q(first_name__isnull=False) | Q(last_name__isnull=False) | Q(brand=brand_id)
        rows = UserPoints.objects.filter(corrected, user_id=user_id)
        return list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))


def lock_unconfirmed(*, user_id: int) -> bool:
    """Whether the person's e-mail address is not confirmed; it stays so until the end of the caller's transaction."""
    unconfirmed = User.objects.select_for_update(no_key=True).filter(pk=user_id, email_verified_at=None)
    return bool(unconfirmed.values_list("pk"))


def find(*, brand: Brand, user_id: int) -> User | None:
    """The brand's customer with this id: enrolled there or registered there. Others' customers are nobody."""
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
    """What this brand calls a member from now on. Called by corrections, in its transaction."""
    rows = UserPoints.objects.filter(pk=account.pk)
    rows.update(first_name=first_name, last_name=last_name, updated_at=at)


def clear_names(*, accounts: Collection[int], names: Iterable[str], at: datetime) -> None:
    """The customer wrote these `names` themselves: that holds in these locked `accounts`, whatever staff corrected."""
    with row_guard.disabled("a customer's own name holds at every brand"):
        for name in names:
            corrected = UserPoints.objects.filter(pk__in=accounts).exclude(**{name: None})
            corrected.update(**{name: None}, updated_at=at)


def set_status(*, accounts: Iterable[UserPoints], status: UserPoints.Status, at: datetime) -> list[UserPoints]:
    """Block accounts, or let them in again. Returns those that this changed. Called by blocking, in its transaction."""
    chosen = {account.pk: account for account in accounts}
    remaining = UserPoints.objects.filter(pk__in=chosen).exclude(status=status)
    with transaction.atomic():
        # In the order in which accruals and the expiry of points lock several. Whoever was faster is not done again.
        remaining = remaining.exclude(status=UserPoints.Status.MERGED)  # the undo of its merge opens it again
        changed = list(remaining.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
        UserPoints.objects.filter(pk__in=changed).update(status=status, updated_at=at)
    return [chosen[pk] for pk in changed]


def set_external_id(*, account: UserPoints, external_id: str, at: datetime) -> None:
    """Note the member's number in the brand's own systems; empty for none. Raises Invalid for one that another has."""
    try:
        with transaction.atomic():
            UserPoints.objects.filter(pk=account.pk).update(external_id=external_id, updated_at=at)
    except IntegrityError as error:
        message = _("Another member of this brand has this external id.")
        raise Invalid(message, details={"field": "external_id"}) from error


def touch(*, account: int, at: datetime) -> None:
    """Make whoever read the account before this, and would write what follows from it, read again."""
    UserPoints.objects.filter(pk=account).update(updated_at=at)


def touch_member(*, user_id: int, brand_id: int, at: datetime) -> bool:
    """Note that what the brand knows of the person changed, for whoever keeps a copy. Locks the account.

    False: the person is no member.
    """
    return bool(UserPoints.objects.filter(user_id=user_id, brand_id=brand_id).update(updated_at=at))


def reassign_to_pseudonym(*, user_id: int, brand_id: int, to: int, at: datetime) -> None:
    """For the erasure of a person's data: the account is the pseudonym's, and earns and redeems nothing any more."""
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
    """Whether the brand has credited the customer anything by then; what other members gave proves nothing."""
    lines = LoyaltyTransaction.objects.filter(user_point__user_id=user_id, user_point__brand_id=brand_id)
    earned = (LoyaltyTransaction.Reason.EARNED, LoyaltyTransaction.Reason.RELEASED)
    own = lines.exclude(reason_id__startswith=TRANSFERRED)
    return own.filter(reason__in=earned, created_at__lte=before).exists()


def is_established(*, user_id: int, brand_id: int, at: datetime) -> bool:
    """Whether the customer is no longer new: registered GOOD_STANDING_DAYS ago, or with points of the day before."""
    joined = at - timedelta(days=GOOD_STANDING_DAYS)
    if User.objects.filter(pk=user_id, date_joined__lte=joined).exists():
        return True
    return has_earned(user_id=user_id, brand_id=brand_id, before=at - timedelta(days=1))
