"""Lists of the portal that staff saved with their filters, under a name."""

from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.moments import MomentField

MAX_NAME_LENGTH = 80


class SavedList(models.Model):
    """A list with its filters, search and order: private to its owner or, shared, for all who may see such a list."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", verbose_name=_("brand"))
    owner = models.ForeignKey(User, models.CASCADE, related_name="saved_lists", editable=False, verbose_name=_("owner"))
    name = models.CharField(
        _("name"),
        max_length=MAX_NAME_LENGTH,
        validators=[RegexValidator(r"^[^\x00-\x1f\x7f]*$", _("Do not use control characters."))],
    )
    model_label = models.CharField(
        _("list"), max_length=100, editable=False, help_text=_("Of which rows: app.model, in lowercase.")
    )
    query = models.JSONField(
        _("filters"), default=dict, editable=False, help_text=_("The values of each parameter of the list's address.")
    )
    is_shared = models.BooleanField(
        _("shared"),
        default=False,
        help_text=_("Colleagues of the brand who may see such a list can open this one and send it on a schedule."),
    )
    created_at = MomentField(_("saved"), default=timezone.now, editable=False)
    changed_at = MomentField(_("changed"), auto_now=True, editable=False)

    class Meta:
        verbose_name = _("saved list")
        verbose_name_plural = _("saved lists")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "owner", "name"],
                name="saved_list_name_once",
                violation_error_message=_("You have already saved a list under this name."),
            )
        ]

    def __str__(self) -> str:
        return self.name
