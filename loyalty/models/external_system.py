"""A brand's own loyalty system, which approves points before they are credited."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField
from loyalty.models.signing_secret import SigningSecretModel


class ExternalSystem(SigningSecretModel):
    """Its URL, and what happens to an accrual that it rejects or does not answer."""

    class WhenRejected(models.TextChoices):
        HOLD = "hold", _("Hold the event and try again later")
        PROCEED = "proceed", _("Credit the points anyway")
        REJECT = "refuse", _("Credit nothing (its decision is final)")

    class WhenAway(models.TextChoices):
        HOLD = "hold", _("Hold the event and try again later")
        PROCEED = "proceed", _("Credit the points anyway")

    brand = models.OneToOneField(Brand, models.CASCADE, related_name="external_system", verbose_name=_("brand"))
    url = models.CharField(
        _("address"),
        max_length=500,
        help_text=_("An https address. It receives POST requests with a signed JSON body."),
    )
    is_active = models.BooleanField(
        _("active"),
        default=True,
        help_text=_("If unticked, points are credited without asking the external loyalty system."),
    )
    when_rejected = models.CharField(
        _("when it rejects"), max_length=10, choices=WhenRejected.choices, default=WhenRejected.HOLD
    )
    when_away = models.CharField(
        _("when it does not respond"), max_length=10, choices=WhenAway.choices, default=WhenAway.HOLD
    )
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("external loyalty system")
        verbose_name_plural = _("external loyalty systems")
        ordering = ["brand_id"]
        constraints = [
            check("external_refusal_known", Q(when_rejected__in=["hold", "proceed", "refuse"])),
            check("external_absence_known", Q(when_away__in=["hold", "proceed"])),
        ]

    def __str__(self) -> str:
        return self.url
