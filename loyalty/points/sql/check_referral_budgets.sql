-- check: every referral programme against its referrals. Returns a Contradiction for each whose count is not the points
-- of the referrals that were rewarded and not reversed.
SELECT 'referral programme of brand ' || p.brand_id AS subject, coalesce(r.points, 0)::text AS expected,
       p.points_rewarded::text AS actual
  FROM loyalty_referralprogramme p
  LEFT JOIN (SELECT brand_id, sum(referrer_points + friend_points) AS points
               FROM loyalty_referral WHERE state = 'rewarded' GROUP BY brand_id) r USING (brand_id)
 WHERE p.points_rewarded <> coalesce(r.points, 0)
