"""Finds where a segment is used, so that none in use is deleted."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from brands.models.saved_lists import SavedList
from campaigns.earning import segment_references
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from core.errors import Invalid
from core.texts import shortened
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.programme.segments import Segment

UNSENT = (Broadcast.State.DRAFT, Broadcast.State.PLANNED, Broadcast.State.SENDING, Broadcast.State.FAILED)


def uses_of(segment: Segment) -> list[str]:
    """What uses the segment, as texts; rules that have ended do not count."""
    rules = EarningRule.objects.filter(brand=segment.brand_id).exclude(state=EarningRule.State.ENDED)
    message = _("earning rule “%(name)s”")
    result = [message % {"name": rule} for rule in rules if segment.pk in segment_references.ids_in(rule.conditions)]
    message = _("campaign “%(name)s”")
    campaigns = Campaign.objects.filter(brand=segment.brand_id).exclude(conditions={})
    result += [
        message % {"name": each} for each in campaigns if segment.pk in segment_references.ids_in(each.conditions)
    ]
    message = _("reward “%(name)s”")
    result += [message % {"name": reward} for reward in segment.rewards.all()]
    message = _("broadcast “%(name)s”")
    result += [message % {"name": each} for each in segment.broadcasts.filter(state__in=UNSENT)]
    message = _("notification “%(name)s”")
    result += [message % {"name": each.get_template_display()} for each in segment.notifications.all()]
    lists = SavedList.objects.filter(brand=segment.brand_id, model_label="loyalty.userpoints")
    message = _("saved list “%(name)s”")
    return result + [message % {"name": each} for each in lists if str(segment.pk) in _values(each.query)]


def _values(query: Any) -> list[str]:
    """The segments in a saved list's filter."""
    values = query.get(segment_references.FIELD) if isinstance(query, Mapping) else None
    return [str(each) for each in values] if isinstance(values, list) else [str(values)]


def delete(segment: Segment) -> None:
    """Delete an unused segment. Owns the transaction. Raises Invalid, which names what uses it."""
    with transaction.atomic():
        segment_references.lock_references(segment.brand_id)
        if uses := uses_of(segment):
            message = _("This segment is used by: %(uses)s. Change these first.")
            raise Invalid(message % {"uses": shortened(uses, most=5)})
        segment.delete()
