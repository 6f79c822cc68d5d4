-- set: a part of the statements that evaluate segments. For each active account how recently (`recency`), how often
-- (`frequency`) and how many points (`value`) it earned by actions since `after`, each as a fifth of the brand's active
-- accounts, 1 to 5. Equal accounts have the same score; accounts that earned nothing have 1.
SELECT a.user_point_id AS account_id,
       least(5, 1 + floor(5 * percent_rank() OVER (ORDER BY t.last_at NULLS FIRST))) AS recency,
       least(5, 1 + floor(5 * percent_rank() OVER (ORDER BY coalesce(t.n, 0)))) AS frequency,
       least(5, 1 + floor(5 * percent_rank() OVER (ORDER BY coalesce(t.points, 0)))) AS value
  FROM user_points a
  LEFT JOIN (SELECT e.user_point_id, max(e."createdAt") AS last_at, count(*) AS n,
                    sum(e.points_earned + e.points_pending) AS points
               FROM loyalty_transaction e
              WHERE e.brand_id = %(brand_id)s::bigint AND e.reason IN ('earned', 'pending')
                AND e.reason_id !~ '{no_actions}' AND e."createdAt" > {after}
              GROUP BY e.user_point_id) t ON t.user_point_id = a.user_point_id
 WHERE a.brand_id = %(brand_id)s::bigint AND a.status = 'active'
