-- set: each preview of level periods by staff. For each level above a brand's lowest: its number of members, and how
-- many of them earned too few points from `first` and before `before`. Returned orders count on the day of the return,
-- so it is an estimate. Returns LevelPreview. Locks nothing.
SELECT l.name AS level, count(*) AS members,
       count(*) FILTER (WHERE coalesce(e.points, 0) - coalesce(r.points, 0) < l.threshold) AS falling
  FROM loyalty_brandlevel l
  JOIN user_points m ON m.brand_id = l.brand_id AND m.current_level = l.name
  LEFT JOIN (SELECT t.user_point_id, sum(t.points_earned) AS points FROM loyalty_transaction t
              WHERE t.brand_id = %(brand_id)s::bigint AND t.points_earned > 0
                AND t."createdAt" >= %(first)s::timestamptz AND t."createdAt" < %(before)s::timestamptz
                AND t.reason_id NOT LIKE 'redeem-undo:%%' AND t.reason_id NOT LIKE 'transfer:%%'
              GROUP BY t.user_point_id) e ON e.user_point_id = m.user_point_id
  LEFT JOIN (SELECT o.user_id, sum(o.points_reversed) AS points FROM loyalty_orderreturn o
              WHERE o.brand_id = %(brand_id)s::bigint
                AND o.applied_at >= %(first)s::timestamptz AND o.applied_at < %(before)s::timestamptz
              GROUP BY o.user_id) r ON r.user_id = m.user_id
 WHERE l.brand_id = %(brand_id)s::bigint AND l.threshold > 0
 GROUP BY l.name, l.threshold
 ORDER BY l.threshold
