-- set: each time that a brand's days close. Returns how many members have redeemed a reward by the moment `at`. Locks nothing.
SELECT count(DISTINCT r.user_point_id) AS rewarded
  FROM loyalty_redemption r
 WHERE r.brand_id = %(brand)s::bigint AND r.created_at < %(at)s::timestamptz
   AND (r.cancelled_at IS NULL OR r.cancelled_at >= %(at)s::timestamptz)
