-- set: each chunk of the nightly run. The next `limit` accounts with points of the brand `brand_id` after the id
-- `after`, by id, and whether each has points earned before `retained_from`. Returns CheckedAccount. Locks nothing.
WITH next AS (
    SELECT user_point_id, points, merged_from FROM user_points
     WHERE brand_id = %(brand_id)s::bigint AND user_point_id > %(after)s::bigint AND points > 0
     ORDER BY user_point_id LIMIT %(limit)s::int
)
SELECT n.user_point_id AS account,
       n.points > coalesce((SELECT sum(t.points_earned) FROM loyalty_transaction t
                             WHERE t.user_point_id = ANY (n.user_point_id || n.merged_from)
                               AND t."createdAt" >= %(retained_from)s::timestamptz
                               AND t.reason_id NOT LIKE 'redeem-undo:%%' AND t.reason <> 'merged'), 0) AS is_due
  FROM next n ORDER BY n.user_point_id
