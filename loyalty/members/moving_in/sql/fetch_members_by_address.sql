-- set: each preview and import of members. For the addresses that belong to the brand's members or to customers who
-- registered with it: what they already have, including the opening balance of this reason_id, whether credited or
-- waiting. An address that was confirmed at another brand counts as confirmed while its owner has a session at this one
-- that has not been purged. Later it does not: a balance is then credited at the next login. Returns KnownMember. Locks
-- nothing.
SELECT u.email, u.id AS user_id, m.user_point_id AS account, coalesce(m.status, '') AS status,
       coalesce(m.external_id, '') AS external_id, u.is_active,
       u.email_verified_at IS NOT NULL AND (u.registered_brand_id IS NOT DISTINCT FROM %(brand_id)s::bigint OR EXISTS (
           SELECT FROM brands_loginsession s WHERE s.user_id = u.id AND s.brand_id = %(brand_id)s::bigint
       )) AS is_confirmed,
       coalesce((SELECT t.points_earned FROM loyalty_transaction t
                  WHERE t.user_point_id = m.user_point_id AND t.reason_id = %(reason_id)s::text),
                (SELECT o.points FROM loyalty_openingbalance o
                  WHERE o.brand_id = %(brand_id)s::bigint AND o.user_id = u.id
                    AND o.reason_id = %(reason_id)s::text)) AS opening_balance
  FROM brands_user u
  LEFT JOIN user_points m ON m.user_id = u.id AND m.brand_id = %(brand_id)s::bigint
 WHERE u.email = ANY (%(addresses)s::text[])
   AND (m.user_point_id IS NOT NULL OR u.registered_brand_id = %(brand_id)s::bigint)
