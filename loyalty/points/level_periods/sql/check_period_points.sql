-- check: every account that follows a brand's level periods, against the ledger. Returns a Contradiction for each whose
-- points of the period are not what it earned since the period's first day, excluding returned points, points from
-- other members and what returned orders and reversed referrals had earned in it.
SELECT 'account ' || a.user_point_id AS subject, coalesce(e.points, 0) - coalesce(r.points, 0) - coalesce(f.points, 0) || '' AS expected,
       {lifetime} - a.points_before_period || '' AS actual
  FROM user_points a
  JOIN brands_brand b ON b.id = a.brand_id
 CROSS JOIN LATERAL (SELECT a.user_point_id || coalesce(a.merged_from, '{}') AS accounts) own
  CROSS JOIN LATERAL (SELECT a.period_from::timestamp AT TIME ZONE b.time_zone AS first) w
  LEFT JOIN LATERAL (
       SELECT sum(t.points_earned) AS points FROM loyalty_transaction t
        WHERE t.user_point_id = ANY (own.accounts) AND t.points_earned > 0 AND t.reason <> 'merged'
          AND t."createdAt" >= w.first
          AND t.reason_id NOT LIKE 'redeem-undo:%%' AND t.reason_id NOT LIKE 'transfer:%%') e ON true
  LEFT JOIN LATERAL (
       SELECT sum(o.points_reversed) AS points
         FROM user_points m
         JOIN loyalty_orderreturn o ON o.user_id = m.user_id AND o.brand_id = m.brand_id AND o.points_reversed > 0
         JOIN loyalty_transaction t ON t.user_point_id = ANY (own.accounts) AND t.reason_id = 'order:' || o.order_id
         LEFT JOIN loyalty_transaction x ON x.user_point_id = ANY (own.accounts)
               AND x.reason_id = 'release:' || t.loyalty_transaction_id AND t.reason = 'pending'
        WHERE m.user_point_id = ANY (own.accounts)
          AND coalesce(x."createdAt", t."createdAt") >= w.first) r ON true
  LEFT JOIN LATERAL (
       SELECT sum(t.points_earned) AS points
         FROM loyalty_referral f
         JOIN loyalty_transaction t ON t.user_point_id IN (f.referrer_id, f.friend_id)
               AND t.user_point_id = ANY (own.accounts) AND t.reason_id = 'referral:' || f.id
        WHERE (f.referrer_id = ANY (own.accounts) OR f.friend_id = ANY (own.accounts)) AND f.state = 'reversed'
          AND t."createdAt" >= w.first) f ON true
 WHERE a.period_from IS NOT NULL
   AND {lifetime} - a.points_before_period <> coalesce(e.points, 0) - coalesce(r.points, 0) - coalesce(f.points, 0)
