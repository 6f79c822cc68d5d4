"""Segments: saved conditions over a brand's members, and the members who fulfilled them at the last evaluation."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.moments import MomentField
from loyalty.models.accounts import UserPoints


class Segment(models.Model):
    """A condition over members. `conditions` is data that campaigns/segments interprets; none of it is executed.

    `plan_fingerprint` identifies the query of the last evaluation. When it changes, for example with a level's
    threshold, all members are evaluated again.
    """

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="segments", db_index=False, verbose_name=_("brand"))
    name = models.CharField(_("name"), max_length=80)
    conditions = models.JSONField(_("conditions"), default=dict, db_default={}, blank=True)
    member_count = models.PositiveIntegerField(_("members"), null=True, editable=False)
    evaluated_at = MomentField(_("evaluated"), null=True, editable=False)
    # When all members were last evaluated. In between, only changed members are.
    fully_evaluated_at = MomentField(null=True, editable=False)
    # When the last evaluation began, even if it failed.
    tried_at = MomentField(null=True, editable=False)
    plan_fingerprint = models.CharField(max_length=64, default="", db_default="", editable=False)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("segment")
        verbose_name_plural = _("segments")
        ordering = ["brand_id", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "name"],
                name="segment_name_unique_in_brand",
                violation_error_message=_("A segment with this name already exists."),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SegmentMember(models.Model):
    """A member who fulfilled a segment's conditions at its last evaluation. Only campaigns/segments writes it."""

    customer_through = ("account",)

    # The inserting statement guarantees a valid brand and account. Constraints would check, and lock, a million
    # accounts one by one.
    brand = models.ForeignKey(Brand, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    segment = models.ForeignKey(Segment, models.CASCADE, related_name="members", db_index=False)
    account = models.ForeignKey(UserPoints, models.CASCADE, related_name="in_segments", db_constraint=False)
    since = MomentField(default=timezone.now)

    class Meta:
        verbose_name = _("segment's member")
        verbose_name_plural = _("segments' members")
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["segment", "account"], name="member_once_in_segment")]

    def __str__(self) -> str:
        return f"#{self.account_id} in #{self.segment_id}"
