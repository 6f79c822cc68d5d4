"""What the list of members is sorted by, kept beside the accounts.

An index on a balance would have to be written by every accrual, and with it all other indexes of the account.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.moments import MomentField
from loyalty.models.accounts import UserPoints


class ListedMember(models.Model):
    """A member's sort keys, a minute behind the account. Written by loyalty/members/listing alone.

    `name` and `email` are in lower case, as people sort them; who has no name is sorted by the address. `last_seen_at`
    is the enrolment until the member does something.
    """

    account = models.OneToOneField(UserPoints, on_delete=models.CASCADE, primary_key=True, related_name="listing")
    brand = models.ForeignKey(Brand, on_delete=models.CASCADE, related_name="+", db_index=False)
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
    """Up to which moment changes of accounts are in ListedMember; one row."""

    until = MomentField()

    def __str__(self) -> str:
        return self.until.isoformat()
