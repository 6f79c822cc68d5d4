"""A brand's own kinds of events: their names, and the fields of their payloads.

Both are append-only, so that stored events and rules remain valid: names and types never change, options are only
added, and a field is deleted only with its kind, which must have no rules. Triggers enforce this.
"""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField
from core.translations import TranslationsField

MAX_FIELDS = 40
MAX_OPTIONS = 100
KIND_NAME = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*\Z"
FIELD_NAME = r"^[a-z][a-z0-9_]*\Z"
# Kinds that exist without an event from outside.
INTERNAL_NAMES = frozenset({"milestone", "reward", "scan", "order", "profile", "login"})


# Payloads must not carry tokens, and `type` is the field that an erasure leaves in a payload.
RESERVED_FIELDS = frozenset({"type", "authorization", "access_token", "refresh_token", "token"})


def validate_field_name(name: str) -> None:
    """Reject reserved names."""
    if name in RESERVED_FIELDS:
        raise ValidationError(_("“%(name)s” is reserved. Choose another name."), params={"name": name})


def validate_kind_name(name: str) -> None:
    """Reject the names of the service's own kinds."""
    if name in settings.EVENT_HANDLERS or name in INTERNAL_NAMES:
        message = _("The service has a kind “%(name)s” itself. Choose another name.")
        raise ValidationError(message, params={"name": name})


class EventKind(models.Model):
    """An event of the brand's own, such as a store visit, that its systems send and its rules reward."""

    brand = models.ForeignKey(
        Brand, models.PROTECT, related_name="event_kinds", db_index=False, verbose_name=_("brand")
    )
    name = models.CharField(
        _("name"),
        max_length=60,
        validators=[
            RegexValidator(
                KIND_NAME, _("Use lower-case letters and digits with hyphens between, such as store-visit.")
            ),
            validate_kind_name,
        ],
        help_text=_("The event's detail-type, such as store-visit. It never changes."),
    )
    title = models.CharField(_("title"), max_length=80, help_text=_("Shown to customers next to their points."))
    is_active = models.BooleanField(
        _("accepts events"),
        default=True,
        help_text=_("If not ticked, events of this kind are stored and earn nothing."),
    )
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    translations = TranslationsField(of=("title",))

    class Meta:
        verbose_name = _("event kind")
        verbose_name_plural = _("event kinds")
        ordering = ["brand_id", "name"]
        constraints = [models.UniqueConstraint(fields=["brand", "name"], name="event_kind_once_per_brand")]

    def __str__(self) -> str:
        return self.title


class EventKindField(models.Model):
    """A field of the payload: its JSON name, its label, its type, and whether it is required."""

    brand_through = ("kind",)

    class Type(models.TextChoices):
        TEXT = "text", _("Text")
        WHOLE = "whole", _("Whole number")
        DECIMAL = "decimal", _("Decimal number")
        SWITCH = "switch", _("Yes or no")
        DATE = "date", _("Date")
        TIME = "time", _("Time of day")
        PRODUCT = "product", _("Product")
        OPTION = "option", _("One of a list")

    kind = models.ForeignKey(EventKind, models.CASCADE, related_name="fields", db_index=False, verbose_name=_("kind"))
    name = models.CharField(
        _("name"),
        max_length=40,
        validators=[
            RegexValidator(FIELD_NAME, _("Use lower-case letters, digits and underscores, such as visit_minutes.")),
            validate_field_name,
        ],
    )
    label = models.CharField(_("label"), max_length=80)
    type = models.CharField(_("type"), max_length=8, choices=Type.choices, default=Type.TEXT)
    required = models.BooleanField(_("required"), default=False)
    options = ArrayField(
        models.CharField(max_length=80),
        default=list,
        db_default=[],
        blank=True,
        size=MAX_OPTIONS,
        verbose_name=_("options"),
    )

    class Meta:
        verbose_name = _("field")
        verbose_name_plural = _("fields of the payload")
        ordering = ["kind_id", "id"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "name"], name="event_field_once_per_kind"),
            check(
                "event_field_type_known",
                Q(type__in=["text", "whole", "decimal", "switch", "date", "time", "product", "option"]),
            ),
        ]

    def __str__(self) -> str:
        return self.label

    def clean(self) -> None:
        """Raises ValidationError for a list without options, and for invalid options."""
        super().clean()
        self.options = [each.strip() for each in self.options or ()]
        if self.type != self.Type.OPTION:
            if self.options:
                raise ValidationError({"options": _("Only a field of the type “One of a list” has options.")})
            return
        if not self.options or not all(self.options):
            raise ValidationError({"options": _("List the options, separated by commas.")})
        if len({each.casefold() for each in self.options}) < len(self.options):
            raise ValidationError({"options": _("An option is listed twice.")})
        missing = set(self.stored_options()) - set(self.options)
        if missing:
            message = _("Stored events may have the option “%(option)s”. Add options; do not remove any.")
            raise ValidationError({"options": message % {"option": min(missing)}})

    def stored_options(self) -> list[str]:
        """The options in the database; empty for a new field."""
        if self.pk is None:
            return []
        return EventKindField.objects.filter(pk=self.pk).values_list("options", flat=True).first() or []
