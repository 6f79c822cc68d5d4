-- check: every account against its orders' returns and the referrals reversed with them. Returns a Contradiction for
-- each whose points owed are not what these took back beyond the ledger's reversed points, with what merges carried
-- over.
SELECT 'account ' || a.user_point_id AS subject,
       (coalesce(r.points, 0) + coalesce(f.points, 0) - coalesce(t.points, 0))::text AS expected,
       a.points_owed::text AS actual
  FROM user_points a
  LEFT JOIN (SELECT brand_id, user_id, sum(points_reversed) AS points FROM loyalty_orderreturn GROUP BY 1, 2) r
         ON r.brand_id = a.brand_id AND r.user_id = a.user_id
  LEFT JOIN (SELECT user_point_id, sum(CASE reason WHEN 'merged' THEN -(details ->> 'owed')::numeric ELSE points_reversed END) AS points
               FROM loyalty_transaction GROUP BY 1) t
         ON t.user_point_id = a.user_point_id
  LEFT JOIN (SELECT side.account, sum(side.points) AS points
               FROM loyalty_referral f
              CROSS JOIN LATERAL (VALUES (f.referrer_id, f.referrer_points), (f.friend_id, f.friend_points))
                         AS side (account, points)
              WHERE f.state = 'reversed' GROUP BY 1) f
         ON f.account = a.user_point_id
 WHERE a.points_owed <> coalesce(r.points, 0) + coalesce(f.points, 0) - coalesce(t.points, 0)
