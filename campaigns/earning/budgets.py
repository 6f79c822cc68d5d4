"""Budgets of rules: what they have given in all. Counted by write_accruals.sql alone; here they are locked."""

from collections.abc import Sequence

from campaigns.models.earning_rules import EarningRuleBudget


def lock(rule_ids: Sequence[int]) -> None:
    """Nobody else takes of these budgets until the transaction ends. After the account, in the order of the rules."""
    if rule_ids:
        rows = EarningRuleBudget.objects.filter(rule__in=rule_ids).order_by("rule_id")
        list(rows.select_for_update(no_key=True).values_list("rule_id"))
