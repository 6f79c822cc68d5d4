-- set: each preview of level periods by staff. For each level above a brand's lowest: its number of members, and how
-- many of them earned too few points from `first` and before `before`. An account that was merged into a member's counts
-- as theirs. Returned orders count on the day of the return, so it is an estimate. Returns LevelPreview. Locks nothing.
SELECT l.name AS level, count(*) AS members,
       count(*) FILTER (WHERE coalesce(e.points, 0) - coalesce(r.points, 0) < l.threshold) AS falling
  FROM loyalty_brandlevel l
  JOIN user_points m ON m.brand_id = l.brand_id AND m.current_level = l.name AND m.status <> 'merged'
  LEFT JOIN (SELECT coalesce(x.merged_into_id, x.user_point_id) AS account, sum(t.points_earned) AS points
               FROM loyalty_transaction t JOIN user_points x USING (user_point_id)
              WHERE t.brand_id = %(brand_id)s::bigint AND t.points_earned > 0 AND t.reason <> 'merged'
                AND t."createdAt" >= %(first)s::timestamptz AND t."createdAt" < %(before)s::timestamptz
                AND t.reason_id NOT LIKE 'redeem-undo:%%' AND t.reason_id NOT LIKE 'transfer:%%'
              GROUP BY 1) e ON e.account = m.user_point_id
  LEFT JOIN (SELECT coalesce(x.merged_into_id, x.user_point_id) AS account, sum(o.points_reversed) AS points
               FROM loyalty_orderreturn o JOIN user_points x ON x.brand_id = o.brand_id AND x.user_id = o.user_id
              WHERE o.brand_id = %(brand_id)s::bigint
                AND o.applied_at >= %(first)s::timestamptz AND o.applied_at < %(before)s::timestamptz
              GROUP BY 1) r ON r.account = m.user_point_id
 WHERE l.brand_id = %(brand_id)s::bigint AND l.threshold > 0
 GROUP BY l.name, l.threshold
 ORDER BY l.threshold
