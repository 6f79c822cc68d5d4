-- check: every account against its ledger entries. Returns a Contradiction for each whose received points are not the
-- sum of what other members gave it.
SELECT 'account ' || p.user_point_id AS subject, coalesce(t.received, 0)::text AS expected, p.points_received::text AS actual
  FROM user_points p
  LEFT JOIN (SELECT user_point_id, sum(CASE reason WHEN 'merged' THEN (details ->> 'received')::numeric ELSE points_earned END) AS received
               FROM loyalty_transaction
              WHERE reason = 'earned' AND reason_id LIKE 'transfer:%%' OR reason = 'merged'
              GROUP BY user_point_id) t USING (user_point_id)
 WHERE p.points_received <> coalesce(t.received, 0)
