-- check: the number of members who had redeemed a reward when they were counted, against the redemptions. Returns a
-- Contradiction for each difference. Locks nothing.
SELECT concat('brand ', w.brand_id) AS subject, count(DISTINCT r.user_point_id)::text AS expected, w.rewarded::text AS actual
  FROM loyalty_programmewatermark w
  LEFT JOIN loyalty_redemption r ON r.brand_id = w.brand_id AND r.created_at < w.counted_at
   AND (r.cancelled_at IS NULL OR r.cancelled_at >= w.counted_at)
 WHERE w.counted_until IS NOT NULL
 GROUP BY w.brand_id
HAVING count(DISTINCT r.user_point_id) <> w.rewarded
