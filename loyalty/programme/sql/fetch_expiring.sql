-- set: each time that a brand's days close. What remains at the moment `before` of the points earned between the
-- moments `bounds`: the first points earned are the first spent, so of each part what the balance then covers. Returned
-- points keep their age. Returns ExpiringPart, whose `part` is the number of bounds before it. Locks nothing.
WITH earned AS (
    SELECT coalesce(p.merged_into_id, p.user_point_id) AS account, width_bucket(t."createdAt", %(bounds)s::timestamptz[]) AS part,
           coalesce(sum(t.points_earned) FILTER (
               WHERE NOT starts_with(t.reason_id, 'redeem-undo:') AND t.reason <> 'merged'), 0) AS points,
           sum(t.points_earned - t.points_redeemed - t.points_expired - t.points_reversed) AS moved
      FROM loyalty_transaction t JOIN user_points p USING (user_point_id)
     WHERE p.brand_id = %(brand)s::bigint AND t."createdAt" < %(before)s::timestamptz
     GROUP BY 1, 2
), reached AS (
    SELECT part, points, sum(moved) OVER (PARTITION BY account) AS balance,
           coalesce(sum(points) OVER (PARTITION BY account ORDER BY part DESC
                                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS later
      FROM earned
)
SELECT part, sum(least(points, balance - later)) AS points
  FROM reached WHERE balance > later AND points > 0
 GROUP BY part ORDER BY part
