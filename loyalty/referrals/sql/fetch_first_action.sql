-- set: each referral that is decided. The friend's first action, if there is one. Returns FirstAction. Call it with the
-- friend's account locked, so that none of their orders is returned in between.
SELECT r.id AS referral, first_action.entry, first_action.reason_id
  FROM loyalty_referral r
 CROSS JOIN LATERAL (
    {first_action}
 ) first_action
 WHERE r.id = %(referral)s::bigint
