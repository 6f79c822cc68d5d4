"""Checks that progress and rewards agree with the events; changes nothing."""

from core.consistency import check

CHECKS = {
    "progress is not the number of actions that advanced it": check("campaigns/progress/sql/check_progress.sql"),
    "reward was given but its milestone is not achieved": check("campaigns/progress/sql/check_rewards.sql"),
    "budget of a campaign is not what its milestones paid": check("campaigns/progress/sql/check_budgets.sql"),
}
