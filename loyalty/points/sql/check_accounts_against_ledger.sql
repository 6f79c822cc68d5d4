-- check: every account against its ledger entries. Returns a Contradiction for each whose earned, redeemed, expired,
-- reversed and pending points are not the sums of its entries.
SELECT 'account ' || p.user_point_id AS subject,
       format('earned %%s, redeemed %%s, expired %%s, reversed %%s, pending %%s', coalesce(t.earned, 0),
              coalesce(t.redeemed, 0), coalesce(t.expired, 0), coalesce(t.reversed, 0), coalesce(t.pending, 0)) AS expected,
       format('earned %%s, redeemed %%s, expired %%s, reversed %%s, pending %%s', p.points_earned, p.points_redeemed,
              p.points_expired, p.points_reversed, p.points_pending) AS actual
  FROM user_points p
  LEFT JOIN (SELECT user_point_id, sum(points_earned) AS earned, sum(points_redeemed) AS redeemed,
                    sum(points_expired) AS expired, sum(points_reversed) AS reversed,
                    sum(points_pending - points_cleared) AS pending
               FROM loyalty_transaction GROUP BY user_point_id) t USING (user_point_id)
 WHERE (p.points_earned, p.points_redeemed, p.points_expired, p.points_reversed, p.points_pending)
       IS DISTINCT FROM (coalesce(t.earned, 0), coalesce(t.redeemed, 0), coalesce(t.expired, 0), coalesce(t.reversed, 0),
                         coalesce(t.pending, 0))
