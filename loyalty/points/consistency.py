"""Proves that balances, ledger and events tell the same story; changes nothing."""

from django.conf import settings

from core.consistency import check

CHECKS = {
    "account does not equal its ledger lines": check("loyalty/points/sql/check_accounts_against_ledger.sql"),
    "balance is not earned minus redeemed minus expired": check("loyalty/points/sql/check_balances.sql"),
    "points that came back are not those of the ledger": check("loyalty/points/sql/check_returned_points.sql"),
    "redemption is not what the ledger says": check("loyalty/points/sql/check_redemptions.sql"),
    "event is done but its ledger line is missing": check("loyalty/points/sql/check_entries_of_events.sql"),
    "event is done but did not publish balance-changed and notify once each": check(
        "loyalty/points/sql/check_consequences_of_events.sql", event_log_days=str(settings.EVENT_LOG_DAYS)
    ),
}
