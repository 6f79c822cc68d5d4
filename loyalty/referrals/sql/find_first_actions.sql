-- set: each turn of a brand. Of at most `scanned` of a brand's waiting referrals with ids after `after`, those whose
-- friend has acted. If points are only for confirmed addresses, the member's address must be confirmed. Returns
-- FirstAction. Locks nothing.
SELECT r.id AS referral, first_action.entry, first_action.reason_id
  FROM (SELECT id, brand_id, referrer_id, friend_id FROM loyalty_referral
         WHERE brand_id = %(brand_id)s::bigint AND state = 'waiting' AND id > %(after)s::bigint
         ORDER BY id LIMIT %(scanned)s::int) r
  JOIN user_points m ON m.user_point_id = r.referrer_id
  JOIN brands_user u ON u.id = m.user_id
 CROSS JOIN LATERAL (
    {first_action}
 ) first_action
 WHERE NOT %(confirmed_only)s::boolean OR u.email_verified_at IS NOT NULL
 ORDER BY r.id
 LIMIT %(most)s::int
