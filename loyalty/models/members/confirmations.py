"""Addresses that are waiting for confirmation."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField


class EmailConfirmation(models.Model):
    """A code and a link sent to an address: a customer's current one, a customer's new one, or that of a registration.

    A new one has `user` and `previous_email`; a registration has no `user`. Neither code nor link is stored: both are
    derived from the id and the installation's secret.
    """

    customer_through = ("user",)

    confirmation_id = models.UUIDField(_("confirmation id"), primary_key=True, default=uuid.uuid4, editable=False)
    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+")
    email = models.EmailField(max_length=254)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    # Set when a customer changes their address to `email`: account mail goes here until that is confirmed.
    previous_email = models.EmailField(_("previous e-mail address"), max_length=254, blank=True, db_default="")
    # Set for a registration: the data of the future account. The password is hashed.
    reserved_user_id = models.BigIntegerField(_("reserved user id"), null=True)
    password = models.CharField(_("password"), max_length=128, blank=True)
    first_name = models.CharField(max_length=150, blank=True)
    last_name = models.CharField(max_length=150, blank=True)
    # What the customer consented to, if the brand asks for consent.
    terms_url = models.CharField(_("terms"), max_length=500, blank=True, db_default="")
    privacy_url = models.CharField(_("privacy notice"), max_length=500, blank=True, db_default="")
    legal_texts = ArrayField(
        models.BigIntegerField(), verbose_name=_("legal texts"), default=list, db_default=[], blank=True
    )
    # The referrer's code, if the brand rewards referrals.
    referral_code = models.CharField(_("referral code"), max_length=8, blank=True, db_default="")
    tries = models.PositiveSmallIntegerField(_("tries"), default=0)
    created_at = MomentField(default=timezone.now)
    expires_at = MomentField(db_index=True)
    confirmed_at = MomentField(_("confirmed at"), null=True)

    class Meta:
        verbose_name = _("e-mail confirmation")
        verbose_name_plural = _("e-mail confirmations")
        ordering = ["-created_at", "confirmation_id"]
        constraints = [
            check(
                "confirmation_of_customer_or_newcomer",
                Q(user__isnull=True, reserved_user_id__isnull=False)
                | Q(user__isnull=False, reserved_user_id__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return str(self.confirmation_id)
