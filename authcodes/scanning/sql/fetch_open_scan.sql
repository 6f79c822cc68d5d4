-- hot: each scan of a used-up code. Returns a customer's accepted scan of the code, the one that an accrual would
-- credit, if a limit once withheld its points; null or no row otherwise. `earns`: whether new scans of the code earn
-- points. Locks nothing.
SELECT (array_agg(s.scan_id ORDER BY s.scanned_at)
        FILTER (WHERE s.outcome = 'success' AND s.points_status <> 'lapsed'
                  AND (s.reason = 'accepted' OR %(earns)s::boolean)))[1] AS scan_id
  FROM authcodes_scan s
 WHERE s.user_id = %(user_id)s::bigint AND s.auth_code_id = %(code_id)s::bigint
HAVING bool_or(s.points_status = 'limited')
