"""Broadcasts: messages from staff to the members of a segment, and the progress of sending them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import DayField, MomentField
from jobs.models import Job
from loyalty.models.notifications import Channel
from loyalty.models.programme.segments import Segment


class Broadcast(models.Model):
    """A message to the members of a segment, or to all members. Its content is fixed once sending begins.

    `texts` has `subject`, `body` and `short_text` by language; parts without text are empty. `segment_name` remains
    when the segment is deleted: otherwise a broadcast to a deleted segment would go to all members.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        PLANNED = "planned", _("Planned")
        SENDING = "sending", _("Sending")
        SENT = "sent", _("Sent")
        CANCELLED = "cancelled", pgettext_lazy("broadcast", "Cancelled")
        FAILED = "failed", _("Interrupted")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False, verbose_name=_("brand"))
    name = models.CharField(_("name"), max_length=80, help_text=_("For staff. Members do not see it."))
    segment = models.ForeignKey(
        Segment,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="broadcasts",
        verbose_name=_("segment"),
        help_text=_("The members of this segment get the message. Leave empty for all members."),
    )
    segment_name = models.CharField(_("segment name"), max_length=80, blank=True, default="", editable=False)
    channels = ArrayField(
        models.CharField(max_length=5, choices=Channel.choices), default=list, verbose_name=_("channels")
    )
    texts = models.JSONField(_("texts"), default=dict, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.DRAFT, editable=False)
    send_at = MomentField(
        _("send at"),
        null=True,
        blank=True,
        help_text=_("In the brand's time zone. Leave empty to send it as soon as you confirm."),
    )
    next_at = MomentField(null=True, editable=False, help_text=_("When sending begins or continues."))
    started_at = MomentField(_("started"), null=True, editable=False)
    finished_at = MomentField(_("finished"), null=True, editable=False)
    evaluated_at = MomentField(null=True, editable=False, help_text=_("When the broadcast's segment was evaluated."))
    members = models.PositiveIntegerField(_("members"), null=True, editable=False)
    is_gathered = models.BooleanField(default=False, editable=False, help_text=_("Every member has a notification."))
    gathered_to = models.BigIntegerField(default=0, editable=False, help_text=_("The last account that was gathered."))
    published_to = models.BigIntegerField(null=True, editable=False, help_text=_("The last notification on its way."))
    last_notification = models.BigIntegerField(default=0, editable=False)
    published = models.PositiveIntegerField(default=0, editable=False)
    counted_on = DayField(null=True, editable=False)
    counted = models.PositiveIntegerField(
        default=0, editable=False, help_text=_("How many notifications were published on that day (UTC).")
    )
    figures = models.JSONField(
        null=True, editable=False, help_text=_("The result of the broadcast, once no notification is on its way.")
    )
    problem = models.TextField(
        _("problem"), blank=True, default="", editable=False, help_text=_("Why the broadcast was interrupted.")
    )
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="+", editable=False, db_index=False)
    created_by = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", editable=False, db_index=False, verbose_name=_("created by")
    )
    sent_by = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", editable=False, db_index=False, verbose_name=_("sent by")
    )
    created_at = MomentField(_("created"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("broadcast")
        verbose_name_plural = _("broadcasts")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["brand", "-id"], name="broadcast_of_brand"),
            models.Index(fields=["next_at"], name="broadcast_due", condition=Q(next_at__isnull=False)),
            models.Index(
                fields=["id"], name="broadcast_unsettled", condition=Q(figures__isnull=True, started_at__isnull=False)
            ),
        ]
        constraints = [
            check("broadcast_state_known", Q(state__in=["draft", "planned", "sending", "sent", "cancelled", "failed"])),
            check("broadcast_planned_for_a_moment", ~Q(state="planned") | Q(next_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        """The key that makes its notifications unique per customer."""
        return f"broadcast:{self.pk}"
