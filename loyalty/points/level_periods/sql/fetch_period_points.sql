-- set: each chunk of level periods. For each account, the points in its period that count towards a level: earned from
-- `firsts` and before `befores`, parallel arrays, excluding returned points, points from other members, and what
-- returned orders and reversed referrals had earned in that time. Entries of accounts merged into a member's count too.
-- Returns PeriodPoints, with the moment of the first of these entries. Locks nothing.
SELECT w.account, coalesce(e.points, 0) - coalesce(r.points, 0) - coalesce(f.points, 0) AS points, e.oldest
  FROM unnest(%(accounts)s::bigint[], %(firsts)s::timestamptz[], %(befores)s::timestamptz[])
       AS w (account, first, before)
 CROSS JOIN LATERAL (
       SELECT m.user_point_id || coalesce(m.merged_from, '{}') AS accounts FROM user_points m
        WHERE m.user_point_id = w.account) own
  LEFT JOIN LATERAL (
       SELECT sum(t.points_earned) AS points, min(t."createdAt") AS oldest FROM loyalty_transaction t
        WHERE t.user_point_id = ANY (own.accounts) AND t.points_earned > 0 AND t.reason <> 'merged'
          AND t."createdAt" >= w.first AND t."createdAt" < w.before
          AND t.reason_id NOT LIKE 'redeem-undo:%%' AND t.reason_id NOT LIKE 'transfer:%%') e ON true
  LEFT JOIN LATERAL (
       SELECT sum(o.points_reversed) AS points
         FROM user_points a
         JOIN loyalty_orderreturn o ON o.user_id = a.user_id AND o.brand_id = a.brand_id AND o.points_reversed > 0
         JOIN loyalty_transaction t ON t.user_point_id = ANY (own.accounts) AND t.reason_id = 'order:' || o.order_id
         LEFT JOIN loyalty_transaction x ON x.user_point_id = ANY (own.accounts)
               AND x.reason_id = 'release:' || t.loyalty_transaction_id AND t.reason = 'pending'
        WHERE a.user_point_id = ANY (own.accounts)
          AND coalesce(x."createdAt", t."createdAt") >= w.first
          AND coalesce(x."createdAt", t."createdAt") < w.before) r ON true
  LEFT JOIN LATERAL (
       SELECT sum(t.points_earned) AS points
         FROM loyalty_referral f
         JOIN loyalty_transaction t ON t.user_point_id IN (f.referrer_id, f.friend_id)
               AND t.user_point_id = ANY (own.accounts) AND t.reason_id = 'referral:' || f.id
        WHERE (f.referrer_id = ANY (own.accounts) OR f.friend_id = ANY (own.accounts)) AND f.state = 'reversed'
          AND t."createdAt" >= w.first AND t."createdAt" < w.before) f ON true
