-- check: each scan's points against its ledger line. Returns a Contradiction for each difference and each missing line.
-- Locks nothing.
SELECT 'scan ' || s.scan_id AS subject, s.points_awarded::text AS expected,
       coalesce(t.points_earned::text, 'no line') AS actual
  FROM authcodes_scan s
  LEFT JOIN user_points p ON p.user_id = s.user_id AND p.brand_id = s.brand_id
  LEFT JOIN loyalty_transaction t ON t.user_point_id = p.user_point_id AND t.reason_id = s.code
 WHERE s.points_status = 'awarded' AND s.points_awarded IS DISTINCT FROM t.points_earned
