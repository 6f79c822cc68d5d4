-- set: a part of the statements that evaluate segments. Counts each customer's accepted scans after `after`. Uses the
-- index of a brand's scans for the time, or the index of a customer's scans for the customers.
SELECT s.user_id, count(*) AS n
  FROM authcodes_scan s
 WHERE s.brand_id = %(brand_id)s::bigint AND s.outcome = 'success' AND s.scanned_at > {after}
   AND s.user_id {among_users}
 GROUP BY s.user_id
