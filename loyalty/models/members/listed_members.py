"""Sort keys of the list of members, stored next to the accounts.

An index on the account's balance would be written by every accrual, along with all other indexes of the account.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.moments import MomentField
from loyalty.models.accounts import UserPoints


class ListedMember(models.Model):
    """A member's sort keys, a minute behind the account. Only loyalty/members/listing writes them.

    `name` and `email` are in lowercase for sorting; a member without a name is sorted by address. `last_seen_at` is the
    enrolment until the member's first activity.
    """

    account = models.OneToOneField(UserPoints, models.CASCADE, primary_key=True, related_name="listing")
    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(_("name"), max_length=310)
    email = models.CharField(_("e-mail address"), max_length=254)
    points = models.DecimalField(_("balance"), max_digits=14, decimal_places=2)
    spent = models.DecimalField(_("spent"), max_digits=14, decimal_places=2)
    last_seen_at = MomentField(_("last seen"))

    class Meta:
        indexes = [
            models.Index(fields=["brand", "name", "account"], name="members_by_name"),
            models.Index(fields=["brand", "email", "account"], name="members_by_email"),
            models.Index(fields=["brand", "points", "account"], name="members_by_balance"),
            models.Index(fields=["brand", "spent", "account"], name="members_by_spent"),
            models.Index(fields=["brand", "last_seen_at", "account"], name="members_by_last_seen"),
        ]

    def __str__(self) -> str:
        return f"#{self.pk}"


class ListedMembersMark(models.Model):
    """Up to when account changes are included in ListedMember. Has one row."""

    until = MomentField()

    def __str__(self) -> str:
        return self.until.isoformat()
