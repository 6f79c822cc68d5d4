"""Proves that codes and scans agree with balances, ledger, progress and events; changes nothing."""

from collections.abc import Iterator

from campaigns.progress import consistency as progress
from core import consistency
from core.consistency import Difference
from loyalty.points import consistency as points

CHECKS = {
    **points.CHECKS,
    **progress.CHECKS,
    "code's scan count is not its number of accepted scans": """
        SELECT 'code ' || c.code, coalesce(s.scans, 0)::text, c.scan_count::text
          FROM authcodes_authcode c
          LEFT JOIN (SELECT auth_code_id, count(*) AS scans FROM authcodes_scan WHERE outcome = 'success'
                      GROUP BY auth_code_id) s ON s.auth_code_id = c.id
         WHERE c.scan_count <> coalesce(s.scans, 0)
    """,
    "code was scanned more often than its batch allows": """
        SELECT 'code ' || c.code, 'at most ' || b.scan_limit, (c.scan_count - c.slots_given_back)::text
          FROM authcodes_authcode c JOIN authcodes_batchrange b ON b.id = c.batch_id
         WHERE c.scan_count - c.slots_given_back > b.scan_limit
    """,
    "code did not give back as many scans as lapsed": """
        SELECT 'code ' || c.code, coalesce(s.scans, 0)::text, c.slots_given_back::text
          FROM authcodes_authcode c
          LEFT JOIN (SELECT auth_code_id, count(*) AS scans FROM authcodes_scan
                      WHERE outcome = 'success' AND points_status = 'lapsed' GROUP BY auth_code_id) s
            ON s.auth_code_id = c.id
         WHERE c.slots_given_back <> coalesce(s.scans, 0)
    """,
    "scan's points are not those of its ledger line": """
        SELECT 'scan ' || s.scan_id, s.points_awarded::text, coalesce(t.points_earned::text, 'no line')
          FROM authcodes_scan s
          LEFT JOIN user_points p ON p.user_id = s.user_id AND p.brand_id = s.brand_id
          LEFT JOIN loyalty_transaction t ON t.user_point_id = p.user_point_id AND t.reason_id = s.code
         WHERE s.points_status = 'awarded' AND s.points_awarded IS DISTINCT FROM t.points_earned
    """,
    "ledger line of a code has no scan or several that say awarded": """
        SELECT 'line ' || t.loyalty_transaction_id, '1 awarded scan', count(s.scan_id)::text
          FROM loyalty_transaction t
          JOIN user_points p ON p.user_point_id = t.user_point_id
          JOIN authcodes_authcode c ON c.code = t.reason_id AND c.brand_id = p.brand_id
          LEFT JOIN authcodes_scan s ON s.user_id = p.user_id AND s.auth_code_id = c.id
                AND s.points_status = 'awarded'
         WHERE t.reason = 'earned'
         GROUP BY t.loyalty_transaction_id HAVING count(s.scan_id) <> 1
    """,
}


def differences() -> Iterator[Difference]:
    """Every contradiction in this database."""
    return consistency.differences(CHECKS)
