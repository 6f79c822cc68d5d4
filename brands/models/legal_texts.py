"""A brand's legal texts that its customers agree to."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField

MAX_LENGTH = 100_000


class LegalText(models.Model):
    """One version of a text in one language. Once it is in force it cannot be changed: customers agreed to it."""

    visible_to_customers = True

    class Kind(models.TextChoices):
        TERMS = "terms", _("Terms")
        PRIVACY = "privacy", _("Privacy notice")
        CONSENT = "consent", _("Consent")

    class Language(models.TextChoices):
        ENGLISH = "en", _("English")
        GERMAN = "de", _("German")
        ARABIC = "ar", _("Arabic")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    kind = models.CharField(
        _("kind"),
        max_length=10,
        choices=Kind.choices,
        help_text=_("A consent is the sentence next to the box that customers tick when they register."),
    )
    version = models.PositiveIntegerField(
        _("version"),
        default=1,
        validators=[MinValueValidator(1)],
        help_text=_(
            "Use the same number for the same text in other languages. A higher number replaces the lower ones."
        ),
    )
    language = models.CharField(_("language"), max_length=2, choices=Language.choices, default=Language.ENGLISH)
    text = models.TextField(_("text"), max_length=MAX_LENGTH, help_text=_("Leave an empty line between paragraphs."))
    valid_from = MomentField(
        _("in force from"),
        default=timezone.now,
        help_text=_("From then on, customers see the text, and it can no longer be changed."),
    )

    class Meta:
        verbose_name = _("legal text")
        verbose_name_plural = _("legal texts")
        ordering = ["kind", "-version", "language", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "kind", "version", "language"],
                name="legal_text_once",
                violation_error_message=_("This text already exists. Enter a higher version for a new one."),
            ),
            check("legal_text_kind_known", Q(kind__in=["terms", "privacy", "consent"])),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.version} ({self.language})"
