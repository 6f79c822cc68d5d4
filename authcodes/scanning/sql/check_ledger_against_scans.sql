-- check: each ledger line that names a code: exactly one scan must say that its points were awarded. Returns a
-- Contradiction for each other line. Locks nothing.
SELECT 'line ' || t.loyalty_transaction_id AS subject, '1 awarded scan' AS expected, count(s.scan_id)::text AS actual
  FROM loyalty_transaction t
  JOIN user_points p ON p.user_point_id = t.user_point_id
  JOIN authcodes_authcode c ON c.code = t.reason_id AND c.brand_id = p.brand_id
  LEFT JOIN authcodes_scan s ON s.user_id = p.user_id AND s.auth_code_id = c.id
        AND s.points_status = 'awarded'
 WHERE t.reason = 'earned'
 GROUP BY t.loyalty_transaction_id HAVING count(s.scan_id) <> 1
