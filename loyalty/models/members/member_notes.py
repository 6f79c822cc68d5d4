"""Notes that staff write about a member, for each other."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.moments import MomentField
from loyalty.models.accounts import UserPoints

MAX_LENGTH = 2000


class MemberNote(models.Model):
    """A note on a member's page. Only its author deletes it; erasing the member's personal data deletes it too.

    The member never sees it: it has neither `customer_through` nor `brand_through`.
    """

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    account = models.ForeignKey(UserPoints, models.CASCADE, related_name="notes", db_index=False)
    author = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    text = models.TextField(_("note"), max_length=MAX_LENGTH)
    created_at = MomentField(_("written at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("note on a member")
        verbose_name_plural = _("notes on members")
        ordering = ["-id"]
        indexes = [models.Index(fields=["account", "-id"], name="notes_on_member")]

    def __str__(self) -> str:
        return f"note {self.pk}"
