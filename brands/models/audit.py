"""The audit log: who changed which row, and why."""

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.credentials import ApiKey
from brands.models.people import User
from brands.models.tenants import Brand
from core.moments import MomentField


class AuditLogEntry(models.Model):
    """A change to a row by staff, an API key or the system. A trigger rejects UPDATE and DELETE."""

    append_only = ("row_name", "reason", "changes")  # except by an erasure

    at = MomentField(_("when"), default=timezone.now, editable=False)
    user = models.ForeignKey(User, models.PROTECT, null=True, related_name="audit_entries", verbose_name=_("who"))
    api_key = models.ForeignKey(
        ApiKey, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("API key")
    )
    brand = models.ForeignKey(Brand, models.PROTECT, null=True, related_name="audit_entries", verbose_name=_("brand"))
    kind = models.CharField(_("kind"), max_length=100, help_text=_("The changed row's model: app.model"))
    row_id = models.CharField(_("row id"), max_length=64)
    row_name = models.CharField(_("what"), max_length=200, help_text=_("The row's name at the time."))
    action = models.CharField(_("action"), max_length=200)
    changes = models.JSONField(
        _("changes"),
        default=dict,
        encoder=DjangoJSONEncoder,
        help_text=_("The value of each changed field before and after."),
    )
    reason = models.TextField(_("reason"), blank=True)
    request_id = models.CharField(_("request id"), max_length=64, blank=True)

    class Meta:
        verbose_name = _("audit log entry")
        verbose_name_plural = _("audit log entries")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["kind", "row_id", "-id"], name="audit_of_a_row"),
            models.Index(fields=["brand", "-id"], name="audit_of_a_brand"),
            models.Index(fields=["user", "-id"], name="audit_of_a_user"),
        ]

    def __str__(self) -> str:
        return f"{self.action}: {self.row_name}"

    @property
    def actor(self) -> User | ApiKey | None:
        """Who made the change: a member of staff or an API key. None is the system itself."""
        return self.user or self.api_key
