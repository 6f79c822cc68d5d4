-- set: each chunk of the nightly warnings. What remains of each entry that earned points for the given accounts before
-- the moment `before`, by account and oldest first, as far as the balance covers it. Returns EarnedLot. Locks nothing.
SELECT l.user_point_id AS account, l.user_id, l.earned_at, least(l.points_earned, l.points - l.later) AS points
  FROM (SELECT a.user_point_id, a.user_id, a.points, t.points_earned, t."createdAt" AS earned_at,
               coalesce(sum(t.points_earned) OVER (
                   PARTITION BY a.user_point_id ORDER BY t."createdAt" DESC, t.loyalty_transaction_id DESC
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS later
          FROM user_points a
          JOIN loyalty_transaction t ON t.user_point_id = ANY (a.user_point_id || a.merged_from)
         WHERE a.user_point_id = ANY (%(accounts)s::bigint[]) AND t.points_earned > 0
           AND t.reason_id NOT LIKE 'redeem-undo:%%' AND t.reason <> 'merged') l
 WHERE l.points > l.later AND l.earned_at < %(before)s::timestamptz
 ORDER BY l.user_point_id, l.earned_at
