"""Notifications that a brand sends only to the members of a segment."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from loyalty.models.notifications import Template
from loyalty.models.programme.segments import Segment


class NotificationSegment(models.Model):
    """A brand's limit of an automatic notification to a segment. Without a row, all members receive it."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False, verbose_name=_("brand"))
    template = models.CharField(_("notification"), max_length=32, choices=Template.choices)
    segment = models.ForeignKey(
        Segment,
        models.PROTECT,
        related_name="notifications",
        verbose_name=_("segment"),
        help_text=_("Only members who are in this segment when the notification is sent get it."),
    )

    class Meta:
        verbose_name = _("notification for a segment")
        verbose_name_plural = _("notifications for segments")
        ordering = ["brand_id", "template"]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "template"],
                name="notification_segment_once",
                violation_error_message=_("This notification already has a segment. Edit that one."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_template_display()}: {self.segment}"
