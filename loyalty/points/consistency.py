"""Checks that balances, ledger and events agree. Changes nothing."""

from django.conf import settings

from core.consistency import check

CHECKS = {
    "account does not equal its ledger lines": check("loyalty/points/sql/check_accounts_against_ledger.sql"),
    "ledger line is not its account's brand's": check("loyalty/points/sql/check_brands_of_entries.sql"),
    "balance is not earned minus redeemed, expired and reversed": check("loyalty/points/sql/check_balances.sql"),
    "points owed are not what returned orders took beyond the balance": check(
        "loyalty/points/sql/check_owed_points.sql"
    ),
    "pending points are not those of the ledger": check("loyalty/points/sql/check_pending_points.sql"),
    "more was returned than the order gave": check("loyalty/points/sql/check_returns.sql"),
    "points that came back are not those of the ledger": check("loyalty/points/sql/check_returned_points.sql"),
    "received points are not those of the ledger": check("loyalty/points/sql/check_received_points.sql"),
    "transfer is not what the ledger says": check("loyalty/points/sql/check_transfers.sql"),
    "merge is not what ledger and accounts say": check("loyalty/points/sql/check_merges.sql"),
    "referral is not what the ledger says": check("loyalty/points/sql/check_referrals.sql"),
    "referrals gave other points than their programme counted": check("loyalty/points/sql/check_referral_budgets.sql"),
    "redemption is not what the ledger says": check("loyalty/points/sql/check_redemptions.sql"),
    "event is done but its ledger line is missing": check("loyalty/points/sql/check_entries_of_events.sql"),
    "event is done but did not publish balance-changed and notify once each": check(
        "loyalty/points/sql/check_consequences_of_events.sql", event_log_days=str(settings.EVENT_LOG_DAYS)
    ),
}
