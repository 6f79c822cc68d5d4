"""Which accounts cannot be merged, and what to do about it."""

from django.utils.translation import gettext as _

from loyalty.merges.totals import Totals
from loyalty.models.accounts import OpeningBalance, UserPoints


def merge_error(target: UserPoints, source: UserPoints) -> str | None:
    """Why these two accounts cannot be merged, and what to do about it. None if they can."""
    if target.pk == source.pk:
        return _("This is the same account. Choose another one.")
    if target.brand_id != source.brand_id:
        return _("The accounts belong to different brands. Only accounts of one brand can be merged.")
    return account_error(target) or account_error(source) or source_error(source)


def account_error(account: UserPoints) -> str | None:
    """Why an account cannot be part of any merge."""
    named, user = {"member": f"#{account.user_id}"}, account.user
    if not user.is_active:
        return _("The data of member %(member)s was erased.") % named
    if account.status == UserPoints.Status.MERGED:
        return _("Member %(member)s was already merged into another account. Choose that account.") % named
    if account.status == UserPoints.Status.BLOCKED:
        return _("Member %(member)s is blocked. Unblock the member first.") % named
    if user.is_staff or user.is_superuser or user.staff_roles.exists():
        return _("The account of member %(member)s cannot be merged.") % named  # staff roles are not disclosed
    return None


def source_error(source: UserPoints) -> str | None:
    """Why an account cannot be the source of a merge."""
    named = {"member": f"#{source.user_id}"}
    if source.merged_from:
        message = _("Other accounts were merged into member %(member)s. Keep this account and let the other one close.")
        return message % named
    if OpeningBalance.objects.filter(brand=source.brand_id, user=source.user_id).exists():
        message = _(
            "Points that member %(member)s brought along are waiting for a confirmed address. Have the "
            "address confirmed first."
        )
        return message % named
    if not Totals.of(source).fit_in_ledger:
        return _("Member %(member)s has too many points for one ledger entry.") % named
    return None
