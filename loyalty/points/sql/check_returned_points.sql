-- check: every account against its ledger entries. Returns a Contradiction for each whose returned points are not the
-- sum of what cancelled redemptions returned.
SELECT 'account ' || p.user_point_id AS subject, coalesce(t.returned, 0)::text AS expected, p.points_returned::text AS actual
  FROM user_points p
  LEFT JOIN (SELECT user_point_id, sum(CASE reason WHEN 'merged' THEN (details ->> 'returned')::numeric ELSE points_earned END) AS returned
               FROM loyalty_transaction
              WHERE reason = 'earned' AND reason_id LIKE 'redeem-undo:%%' OR reason = 'merged'
              GROUP BY user_point_id) t USING (user_point_id)
 WHERE p.points_returned <> coalesce(t.returned, 0)
