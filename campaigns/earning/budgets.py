"""Budgets of rules: what they have given in all.

Counted by write_accruals.sql alone; here they are locked, and owners hear when one is used up.
"""

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from brands.staff_login import mails, quota_mails
from brands.staff_login.models import StaffMail
from campaigns.models.earning_rules import EarningRule, EarningRuleBudget

AT_ONCE = 200


def lock(rule_ids: Sequence[int]) -> None:
    """Nobody else takes of these budgets until the transaction ends. After the account, in the order of the rules."""
    if rule_ids:
        rows = EarningRuleBudget.objects.filter(rule__in=rule_ids).order_by("rule_id")
        list(rows.select_for_update(no_key=True).values_list("rule_id"))


def notify_used_up(*, at: datetime) -> int:
    """Mail the owners of brands whose rules have given all that there was, once for each budget. Returns how many."""
    waiting = EarningRuleBudget.objects.filter(used_up_at__isnull=False, notified_at__isnull=True)
    return sum(
        _notify(rule_id, at) for rule_id in waiting.order_by("used_up_at").values_list("rule_id", flat=True)[:AT_ONCE]
    )


def _notify(rule_id: int, at: datetime) -> int:
    """Who loses the race to note it down mails nothing."""
    with transaction.atomic():
        if not EarningRuleBudget.objects.filter(rule=rule_id, notified_at__isnull=True).update(notified_at=at):
            return 0
        rule = EarningRule.objects.select_related("brand", "budget").get(pk=rule_id)
        message = _("%(brand)s: the rule “%(rule)s” has given %(points)s points, %(events)s times.") % {
            "brand": rule.brand,
            "rule": rule,
            "points": f"{rule.budget.points:,}",
            "events": f"{rule.budget.events:,}",
        }
        path = reverse("admin:campaigns_earningrule_change", args=[rule.pk])
        for owner in quota_mails.owners_of(rule.brand):
            kind = StaffMail.Kind.BUDGET
            mails.write(user=owner.user, kind=kind, origin=settings.PORTAL_URL, text=message[:300], path=path)
    return 1
