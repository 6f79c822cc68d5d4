-- check: every redemption that cost points against the ledger. Returns a Contradiction for each without an entry that
-- took its cost, for each cancelled one without an entry that returned it, and for each other one with such an entry.
SELECT 'redemption ' || r.id AS subject,
       format('spent %%s, back %%s', r.cost, CASE r.status WHEN 'cancelled' THEN r.cost END) AS expected,
       format('spent %%s, back %%s', s.points_redeemed, b.points_earned) AS actual
  FROM loyalty_redemption r
  JOIN user_points a ON a.user_point_id = r.user_point_id
  LEFT JOIN loyalty_transaction s ON s.user_point_id = ANY (a.user_point_id || a.merged_from) AND s.reason_id = 'redeem:' || r.id
  LEFT JOIN loyalty_transaction b ON b.user_point_id = ANY (a.user_point_id || a.merged_from) AND b.reason_id = 'redeem-undo:' || r.id
 WHERE r.cost > 0
   AND (s.points_redeemed IS DISTINCT FROM r.cost
        OR b.points_earned IS DISTINCT FROM CASE r.status WHEN 'cancelled' THEN r.cost END)
