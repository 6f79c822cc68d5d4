"""Webhook endpoints of brands, and the log of deliveries and responses."""

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField
from loyalty.models.signing_secret import SigningSecretModel


class WebhookType(models.TextChoices):
    POINTS_EARNED = "points.earned", _("points.earned: points credited")
    LEVEL_REACHED = "level.reached", _("level.reached: a level reached")
    LEVEL_RENEWED = "level.renewed", _("level.renewed: kept for another period")
    LEVEL_LOWERED = "level.lowered", _("level.lowered: a level lost")
    POINTS_ADJUSTED = "points.adjusted", _("points.adjusted: adjusted by hand")
    POINTS_EXPIRED = "points.expired", _("points.expired: points expired")
    POINTS_RETURNED = "points.returned", _("points.returned: points given back")
    POINTS_REVERSED = "points.reversed", _("points.reversed: an order returned")
    POINTS_PENDING = "points.pending", _("points.pending: points pending")
    POINTS_RELEASED = "points.released", _("points.released: no longer pending")
    POINTS_TRANSFERRED = "points.transferred", _("points.transferred: given to a member")
    REWARD_REDEEMED = "reward.redeemed", _("reward.redeemed: a reward redeemed")
    REWARD_USED = "reward.used", _("reward.used: a code used")
    REWARD_CANCELLED = "reward.cancelled", _("reward.cancelled: cancelled")
    MEMBER_ENROLLED = "member.enrolled", _("member.enrolled: a new member")
    MEMBER_BLOCKED = "member.blocked", _("member.blocked: blocked")
    MEMBER_UNBLOCKED = "member.unblocked", _("member.unblocked: unblocked")
    MEMBER_CHANGED = "member.changed", _("member.changed: details changed")
    MEMBER_MERGED = "member.merged", _("member.merged: accounts merged")
    MEMBER_UNMERGED = "member.unmerged", _("member.unmerged: merge undone")
    MEMBER_ERASED = "member.erased", _("member.erased: data erased")
    CODE_SCANNED = "code.scanned", _("code.scanned: a code scanned")
    CODES_DEACTIVATED = "codes.deactivated", _("codes.deactivated: switched off")
    CODES_REACTIVATED = "codes.reactivated", _("codes.reactivated: switched on")
    BATCH_RECALLED = "batch.recalled", _("batch.recalled: a batch recalled")
    JOB_FINISHED = "job.finished", _("job.finished: a job ended")


class WebhookEndpointQuerySet(models.QuerySet["WebhookEndpoint"]):
    def active(self) -> Self:
        return self.filter(state=WebhookEndpoint.State.ACTIVE)


class WebhookEndpoint(SigningSecretModel):
    """A URL that receives the webhook events of its brand."""

    class State(models.TextChoices):
        ACTIVE = "active", _("Active")
        DISABLED = "disabled", _("Disabled by staff")
        GONE = "gone", _("Disabled: the receiver answered 410 Gone")
        FAILING = "failing", _("Disabled after repeated failures")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="webhook_endpoints", verbose_name=_("brand"))
    url = models.CharField(
        _("address"),
        max_length=500,
        help_text=_("An https address. It receives POST requests with a signed JSON body."),
    )
    description = models.CharField(_("description"), max_length=200, blank=True)
    types = ArrayField(
        models.CharField(max_length=40, choices=WebhookType.choices),
        verbose_name=_("events"),
        help_text=_("The events that the address receives."),
    )
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.ACTIVE, editable=False)
    state_since = MomentField(_("state since"), default=timezone.now, editable=False)
    failing_since = MomentField(
        _("failing since"),
        null=True,
        blank=True,
        editable=False,
        help_text=_("The first failure since the last success."),
    )
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)

    objects = WebhookEndpointQuerySet.as_manager()

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["-id"]
        constraints = [check("webhook_state_known", Q(state__in=["active", "disabled", "gone", "failing"]))]

    def __str__(self) -> str:
        return self.description or self.url

    @property
    def is_active(self) -> bool:
        return self.state == self.State.ACTIVE


class WebhookDelivery(models.Model):
    """One webhook event for one endpoint: the body, the same bytes at each attempt, and the result."""

    customer_through = ("user",)

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        DELIVERED = "delivered", _("Delivered")
        FAILED = "failed", _("Failed")
        DROPPED = "dropped", _("Not sent (webhook disabled or customer erased)")

    endpoint = models.ForeignKey(
        WebhookEndpoint, models.CASCADE, related_name="deliveries", verbose_name=_("webhook"), db_index=False
    )
    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False, verbose_name=_("brand"))
    message_id = models.CharField(
        _("message id"), max_length=64, help_text=_("The header webhook-id: the same at each attempt and resend.")
    )
    type = models.CharField(_("event"), max_length=40)
    user = models.ForeignKey(
        User,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        help_text=_("The customer whom the event concerns, if any."),
    )
    body = models.TextField(help_text=_("The body that is sent. Empty once the customer was erased."))
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    last_status = models.PositiveIntegerField(_("last answer"), null=True, blank=True)
    next_attempt_at = MomentField(_("next attempt"), null=True, blank=True)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    finished_at = MomentField(_("finished at"), null=True, blank=True)

    class Meta:
        verbose_name = _("webhook delivery")
        verbose_name_plural = _("webhook deliveries")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["brand", "-id"], name="webhooks_of_a_brand"),
            models.Index(fields=["endpoint", "-id"], name="webhooks_of_an_endpoint"),
            models.Index(fields=["created_at"], name="webhooks_by_age"),
            models.Index(fields=["user"], name="webhooks_of_a_person", condition=Q(user__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(fields=["message_id", "endpoint"], name="webhook_once_per_endpoint"),
            check("webhook_delivery_state_known", Q(state__in=["waiting", "delivered", "failed", "dropped"])),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.message_id}"


class WebhookAttempt(models.Model):
    """One call and its result. `status` is null without a response; `error` then says why."""

    brand_through = ("delivery",)

    delivery = models.ForeignKey(WebhookDelivery, models.CASCADE, related_name="calls")
    at = MomentField(_("when"), default=timezone.now)
    status = models.PositiveIntegerField(null=True)
    milliseconds = models.PositiveIntegerField(_("duration"))
    answer = models.TextField(blank=True, help_text=_("The start of the response."))
    error = models.CharField(max_length=500, blank=True)

    class Meta:
        verbose_name = _("attempt")
        ordering = ["id"]

    def __str__(self) -> str:
        return str(self.status or self.error)
