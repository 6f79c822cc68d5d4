"""Invitations to a brand's staff: the only code that writes Invitation, and finds one by its link.

Nothing here checks whether the invited address has an account: an owner gets the same answer, in the same time, for
every address. When the link is opened, brands.staff_login.joining decides what happens to which account.
"""

import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from brands.models.people import StaffRole, User
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.staff_login.models import Invitation
from brands.tenants import quotas
from core.errors import Invalid, RateLimited
from core.redis import rate_limits

LIFE = timedelta(days=7)
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
                brand=brand, email=email, role=role, invited_by=by, created_at=at, expires_at=at + LIFE
            )
    except IntegrityError:
        raise invited() from None


def check(*, brand: Brand, email: str) -> None:
    """Check an address against the brand's own data. Raises Invalid if the person works for it or is invited."""
    if StaffRole.objects.filter(brand=brand, user__email=email.lower()).exists():
        raise Invalid(_("The person with this address already works for the brand."), details={"field": "email"})
    if Invitation.objects.filter(brand=brand, email=email.lower(), accepted_at=None, revoked_at=None).exists():
        raise invited()


def renew(*, invitation: Invitation, by: User | None, at: datetime) -> None:
    """Restart an invitation; links that were mailed before end at once. The caller queues the mail in the same
    transaction. Raises Invalid if it was accepted or revoked, RateLimited, Unavailable."""
    count_mail(brand_id=invitation.brand_id, email=invitation.email)
    invitation.digest, invitation.invited_by, invitation.expires_at = None, by, at + LIFE
    again = {
        "digest": None,
        "invited_by": by,
        "expires_at": invitation.expires_at,
        "mailed_at": None,
        "failed_mails": 0,
    }
    if not _open(invitation.pk).update(**again):
        raise closed()


def revoke(*, invitation: Invitation, at: datetime) -> None:
    """End its links. Raises Invalid if it was accepted or revoked before."""
    if not _open(invitation.pk).update(digest=None, revoked_at=at):
        raise closed()
    invitation.digest, invitation.revoked_at = None, at


def revoke_of_inviter(*, user_id: int, brand_id: int | None, at: datetime) -> int:
    """Revoke a user's open invitations for a brand, or for all if None: the user may no longer invite anyone."""
    open_ones = Invitation.objects.filter(invited_by=user_id, accepted_at=None, revoked_at=None)
    if brand_id is not None:
        open_ones = open_ones.filter(brand=brand_id)
    return open_ones.update(digest=None, revoked_at=at)


def count_mail(*, brand_id: int, email: str) -> None:
    """Count a mail to this address: limited for the brand, and for the brand and the address together, so that brands
    cannot learn about or use up each other's limits. Raises RateLimited and Unavailable."""
    rate_limits.hit("invitation_address", brand_id, email)
    rate_limits.hit("invitation", brand_id)
    if not quotas.take(brand_id, BrandQuota.Resource.MAILS):
        message = _(
            "Your brand has reached today's e-mail quota. Ask the operator for more, or try again tomorrow (UTC)."
        )
        raise RateLimited(message, retry_after=3_600)


@sensitive_variables("token")
def new_token(*, invitation_id: int, at: datetime) -> str:
    """Create the token for a mail that is sent now. It ends those of earlier mails. Empty for an ended invitation."""
    token = secrets.token_urlsafe(32)
    saved = _open(invitation_id).filter(expires_at__gt=at).update(digest=digest_of(token))
    return token if saved else ""


def mark_mailed(*, invitation_id: int, at: datetime) -> None:
    """The mail server accepted the mail."""
    Invitation.objects.filter(pk=invitation_id).update(mailed_at=at)


def mark_failed(*, invitation_id: int) -> None:
    """The mail server rejected the mail: the owner sees it, and can have it sent again."""
    Invitation.objects.filter(pk=invitation_id).update(failed_mails=F("failed_mails") + 1)


@sensitive_variables("token")
def opened(*, token: str, at: datetime) -> Invitation:
    """The invitation of `token`. Opening does not use it up. Raises Invalid."""
    result = Invitation.objects.select_related("brand", "invited_by")
    invitation = result.filter(digest=digest_of(token), accepted_at=None, revoked_at=None, expires_at__gt=at).first()
    if invitation is None or len(token) > MAX_TOKEN_LENGTH:
        raise ended()
    return invitation


def use(invitation: Invitation, *, at: datetime) -> None:
    """Accept the invitation. Of two concurrent calls with the same link, one raises Invalid."""
    good = _open(invitation.pk).filter(digest=invitation.digest, expires_at__gt=at)
    if not good.update(accepted_at=at, digest=None):
        raise ended()


def purge_old(*, at: datetime) -> int:
    return Invitation.objects.filter(expires_at__lt=at - RETENTION).delete()[0]


def erase_address(*, brand_id: int, email: str) -> None:
    """Delete the invitations of an erased person: their links end, too."""
    Invitation.objects.filter(brand=brand_id, email=email).delete()


def digest_of(token: str) -> bytes:
    """Tokens are random and long: a plain hash cannot be reversed."""
    return sha256(token.encode()).digest()


def _open(invitation_id: int) -> QuerySet[Invitation]:
    return Invitation.objects.filter(pk=invitation_id, accepted_at=None, revoked_at=None)


def ended() -> Invalid:
    return Invalid(_("This invitation has expired or was already used. Ask the brand for a new one."))


def invited() -> Invalid:
    message = _("This address has already been invited. Open the invitation to resend or revoke it.")
    return Invalid(message, details={"field": "email"})


def closed() -> Invalid:
    return Invalid(_("This invitation has already been accepted or revoked."))
