-- hot: each scan. Part of fetch_code.sql: for a used-up code, the customer's own scan that waits for their confirmed
-- address, else the oldest unclaimed scan of a guest or an unconfirmed customer.
SELECT s.scan_id, s.scanned_at, s.user_id FROM authcodes_scan s
 WHERE c.scan_count - c.slots_returned >= b.scan_limit AND s.auth_code_id = c.id
   AND s.outcome = 'success' AND (s.user_id IS NULL OR s.unconfirmed)
   AND s.points_status IN ('guest', 'unconfirmed')
 ORDER BY COALESCE(s.user_id = %(user_id)s::bigint, false) DESC, s.scanned_at LIMIT 1
