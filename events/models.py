"""The table of events: inbox and outbox."""

import uuid
from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField

OWN_SOURCE = "service.customer-app"  # the source of events that the service publishes itself


def default_give_up_at() -> datetime:
    return timezone.now() + timedelta(hours=settings.EVENT_RETRY_HOURS)


class EventQuerySet(models.QuerySet["Event"]):
    def pending(self) -> Self:
        return self.filter(status=Event.Status.PENDING)

    def dead(self) -> Self:
        return self.filter(status=Event.Status.DEAD)

    def from_outside(self) -> Self:
        """Events that hubs, apps and queues sent."""
        return self.exclude(source=OWN_SOURCE)


class Event(models.Model):
    """Something that happened and what became of it: inbox and outbox in one table."""

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        DONE = "done", _("Done")
        REJECTED = "refused", _("Rejected")
        IGNORED = "ignored", _("Ignored (no handler)")
        DEAD = "dead", _("Failed")

    event_id = models.UUIDField(_("event id"), default=uuid.uuid4, help_text=_("The envelope's id, unique per source."))
    source = models.CharField(_("source"), max_length=120)
    detail_type = models.CharField(_("kind"), max_length=64)
    brand = models.ForeignKey(Brand, models.PROTECT, related_name="events", db_index=False, verbose_name=_("brand"))
    account = models.CharField(max_length=64, blank=True)
    region = models.CharField(max_length=64, blank=True)
    time = MomentField(_("time"), default=timezone.now)
    lane = models.CharField(
        max_length=10,
        default="points",
        db_default="points",
        help_text=_("Slow kinds of events have lanes of their own."),
    )
    detail = models.JSONField(help_text=_("Arguments and payload. Never contains a bearer token."))
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.PENDING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    crashes = models.PositiveSmallIntegerField(
        _("crashes"),
        default=0,
        db_default=0,
        help_text=_("Consecutive attempts during which the worker process died."),
    )
    due_at = MomentField(
        _("due at"), default=timezone.now, help_text=_("When it is due. A worker that leases it postpones this.")
    )
    give_up_at = MomentField(
        _("give up at"), default=default_give_up_at, help_text=_("A failure after this moment is final.")
    )
    outcome = models.JSONField(null=True, blank=True, help_text=_("The stored response or error."))
    request_id = models.CharField(
        _("request id"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text=_("The request that caused it."),
    )
    last_error = models.TextField(_("last error"), blank=True)
    on_hold_for = models.BigIntegerField(
        _("held for"), null=True, blank=True, help_text=_("The customer whose confirmed e-mail address it waits for.")
    )
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    finished_at = MomentField(_("finished at"), null=True, blank=True, editable=False)

    objects = EventQuerySet.as_manager()

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["lane", "due_at"], name="event_due_in_lane", condition=Q(status="pending")),
            # For slow lanes, which are delivered brand by brand, in turns.
            models.Index(
                fields=["lane", "brand", "due_at"],
                name="event_due_of_brand",
                condition=Q(status="pending") & ~Q(lane="points"),
            ),
            models.Index(fields=["id"], name="event_dead", condition=Q(status="dead")),
            models.Index(
                fields=["on_hold_for"], name="event_held", condition=Q(status="pending", on_hold_for__isnull=False)
            ),
            # For lists of the brand's own systems, of events from outside. The service's own events are not indexed.
            models.Index(fields=["brand", "id"], name="event_from_outside", condition=~Q(source=OWN_SOURCE)),
            models.Index(fields=["brand", "detail_type", "id"], name="event_of_kind", condition=~Q(source=OWN_SOURCE)),
            models.Index(
                fields=["brand", "status", "id"],
                name="event_without_credit",
                condition=~Q(source=OWN_SOURCE) & Q(status__in=["refused", "ignored", "dead"]),
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["brand", "source", "event_id"], name="event_once_per_source"),
            check("event_status_known", Q(status__in=["pending", "done", "refused", "ignored", "dead"])),
        ]

    def __str__(self) -> str:
        return f"{self.detail_type} {self.event_id}"
