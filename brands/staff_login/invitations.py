"""Invitations to a brand's staff: the only code that writes Invitation, and finds one by its link.

Nothing here checks whether the invited address has an account: an owner gets the same answer, in the same time, for
every address. When the link is opened, brands.staff_login.joining decides what happens to which account.
"""

import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from brands.models.people import StaffRole, User
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.staff_login.models import Invitation
from brands.tenants import quotas
from core.errors import Invalid, RateLimited
from core.redis import rate_limits

VALIDITY = timedelta(days=7)
RETENTION = timedelta(days=90)  # after its end, so that owners see the outcome
MAX_TOKEN_LENGTH = 100


def create(*, brand: Brand, email: str, role: str, by: User | None, at: datetime) -> Invitation:
    """Invite an address. The caller queues the mail in the same transaction.

    Raises Invalid if the person works for the brand or is invited already, RateLimited, and Unavailable.
    """
    email = email.lower()
    check(brand=brand, email=email)
    count_mail(brand_id=brand.pk, email=email)
    try:
        with transaction.atomic():
            return Invitation.objects.create(
                brand=brand, email=email, role=role, invited_by=by, created_at=at, expires_at=at + VALIDITY
            )
    except IntegrityError:
        raise invited_error() from None


def check(*, brand: Brand, email: str) -> None:
    """Check an address against the brand's own data. Raises Invalid if the person works for it or is invited."""
    if StaffRole.objects.filter(brand=brand, user__email=email.lower()).exists():
        raise Invalid(_("The person with this address already works for the brand."), details={"field": "email"})
    if Invitation.objects.unused().filter(brand=brand, email=email.lower()).exists():
        raise invited_error()


def renew(*, invitation: Invitation, by: User | None, at: datetime) -> None:
    """Restart an invitation; links that were mailed before end at once. The caller queues the mail in the same
    transaction. Raises Invalid if it was accepted or revoked, RateLimited, Unavailable."""
    if invitation.accepted_at or invitation.revoked_at:
        raise closed_error()
    count_mail(brand_id=invitation.brand_id, email=invitation.email)
    changes = {"digest": None, "invited_by": by, "expires_at": at + VALIDITY, "mailed_at": None, "failed_mails": 0}
    if not _unused(invitation.pk).update(**changes):
        raise closed_error()
    for name, value in changes.items():
        setattr(invitation, name, value)


def revoke(*, invitation: Invitation, at: datetime) -> None:
    """End its links. Raises Invalid if it was accepted or revoked before."""
    if not _unused(invitation.pk).update(digest=None, revoked_at=at):
        raise closed_error()
    invitation.digest, invitation.revoked_at = None, at


def revoke_of_inviter(*, user_id: int, brand_id: int | None, at: datetime) -> int:
    """Revoke a user's open invitations for a brand, or for all if None: the user may no longer invite anyone."""
    unused = Invitation.objects.unused().filter(invited_by=user_id)
    if brand_id is not None:
        unused = unused.filter(brand=brand_id)
    return unused.update(digest=None, revoked_at=at)


def count_mail(*, brand_id: int, email: str) -> None:
    """Count a mail to this address: limited for the brand, and for the brand and the address together, so that brands
    cannot learn about or use up each other's limits. Raises RateLimited and Unavailable."""
    rate_limits.hit("invitation_address", brand_id, email)
    rate_limits.hit("invitation", brand_id)
    if not quotas.take(brand_id, BrandQuota.Resource.MAILS):
        message = _(
            "Your brand has reached today's e-mail quota. Ask the operator for more, or try again tomorrow (UTC)."
        )
        raise RateLimited(message, retry_after=quotas.seconds_until_tomorrow(timezone.now()))


@sensitive_variables("token")
def new_token(*, invitation_id: int, at: datetime) -> str:
    """Create the token for a mail that is sent now. It ends those of earlier mails. Empty for an ended invitation."""
    token = secrets.token_urlsafe(32)
    saved = _unused(invitation_id).filter(expires_at__gt=at).update(digest=digest_of(token))
    return token if saved else ""


def mark_mailed(*, invitation_id: int, at: datetime) -> None:
    """The mail server accepted the mail."""
    Invitation.objects.filter(pk=invitation_id).update(mailed_at=at)


def mark_failed(*, invitation_id: int) -> None:
    """The mail server rejected the mail: the owner sees it, and can have it sent again."""
    Invitation.objects.filter(pk=invitation_id).update(failed_mails=F("failed_mails") + 1)


@sensitive_variables("token")
def find_by_token(*, token: str, at: datetime) -> Invitation:
    """The invitation of `token`. Opening does not use it up. Raises Invalid."""
    if len(token) > MAX_TOKEN_LENGTH:
        raise ended_error()
    unused = Invitation.objects.unused().filter(digest=digest_of(token), expires_at__gt=at)
    invitation = unused.select_related("brand", "invited_by").first()
    if invitation is None:
        raise ended_error()
    return invitation


def mark_accepted(invitation: Invitation, *, at: datetime) -> None:
    """Accept the invitation. Of two concurrent calls with the same link, one raises Invalid."""
    # Renewed, it has no link until the next mail is sent.
    usable = _unused(invitation.pk).filter(digest=invitation.digest, digest__isnull=False, expires_at__gt=at)
    if not usable.update(accepted_at=at, digest=None):
        raise ended_error()


def purge_old(*, at: datetime) -> int:
    return Invitation.objects.filter(expires_at__lt=at - RETENTION).delete()[0]


def erase_address(*, brand_id: int, email: str) -> None:
    """Delete the invitations of an erased person: their links end, too."""
    Invitation.objects.filter(brand=brand_id, email=email).delete()


def digest_of(token: str) -> bytes:
    """Tokens are random and long: a plain hash cannot be reversed."""
    return sha256(token.encode()).digest()


def _unused(invitation_id: int) -> QuerySet[Invitation]:
    return Invitation.objects.unused().filter(pk=invitation_id)


def ended_error() -> Invalid:
    return Invalid(_("This invitation has expired or was already used. Ask the brand for a new one."))


def invited_error() -> Invalid:
    message = _("This address has already been invited. Open the invitation to resend or revoke it.")
    return Invalid(message, details={"field": "email"})


def closed_error() -> Invalid:
    return Invalid(_("This invitation has already been accepted or revoked."))
