-- check: every row of pending points. Returns a Contradiction for each whose remaining points are not those that the
-- ledger has neither released nor cancelled, and for each ledger entry whose remaining points have no row.
SELECT 'ledger line ' || t.loyalty_transaction_id AS subject,
       (t.points_pending - coalesce(c.cleared, 0))::text AS expected, coalesce(p.remaining::text, 'no rest') AS actual
  FROM loyalty_transaction t
  JOIN user_points a ON a.user_point_id = t.user_point_id
  LEFT JOIN loyalty_pendingpoints p ON p.entry_id = t.loyalty_transaction_id
  LEFT JOIN (SELECT split_part(reason_id, ':', 2) AS entry, sum(points_cleared) AS cleared
               FROM loyalty_transaction WHERE points_cleared > 0 GROUP BY 1) c
         ON c.entry = t.loyalty_transaction_id::text
 WHERE t.reason = 'pending'
   AND (p.remaining IS NULL OR p.points <> t.points_pending OR p.user_point_id <> coalesce(a.merged_into_id, a.user_point_id)
        OR p.remaining <> t.points_pending - coalesce(c.cleared, 0))
