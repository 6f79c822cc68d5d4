-- hot: each gift of points. What an account still has of points that it was given: first earned is first spent, so of each
-- entry as much as the balance reaches back. Returns the sum. Locks nothing.
SELECT coalesce(sum(least(l.points_earned, l.points - l.later)), 0) AS received
  FROM (SELECT a.points, t.points_earned, t.reason_id,
               coalesce(sum(t.points_earned) OVER (
                   ORDER BY t."createdAt" DESC, t.loyalty_transaction_id DESC
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS later
          FROM user_points a JOIN loyalty_transaction t USING (user_point_id)
         WHERE a.user_point_id = %(account)s::bigint AND t.points_earned > 0
           AND t.reason_id NOT LIKE 'redeem-undo:%%') l
 WHERE l.points > l.later AND starts_with(l.reason_id, 'transfer:')
