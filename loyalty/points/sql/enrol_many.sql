-- set: each import of members. Creates accounts for the users with these addresses, parallel arrays, at a brand where
-- they have none: empty, in the lowest level that requires no points. Sets the brand's names for them; users who
-- registered with the brand keep their own. Returns the accounts. Locks them.
INSERT INTO user_points
       (user_id, brand_id, points, points_earned, points_redeemed, points_expired, current_level, status,
        external_id, first_name, last_name, enrolled_at, "updatedAt")
SELECT u.id, %(brand_id)s::bigint, 0, 0, 0, 0,
       COALESCE((SELECT name FROM loyalty_brandlevel
                  WHERE brand_id = %(brand_id)s::bigint AND threshold <= 0 ORDER BY threshold DESC LIMIT 1), ''),
       'active', a.external_id,
       CASE WHEN u.registered_brand_id = %(brand_id)s::bigint THEN NULL ELSE a.first_name END,
       CASE WHEN u.registered_brand_id = %(brand_id)s::bigint THEN NULL ELSE a.last_name END,
       %(at)s::timestamptz, %(at)s::timestamptz
  FROM unnest(%(addresses)s::text[], %(external_ids)s::text[], %(first_names)s::text[], %(last_names)s::text[])
       AS a (email, external_id, first_name, last_name)
  JOIN brands_user u ON u.email = a.email
 ORDER BY u.id
    ON CONFLICT (user_id, brand_id) DO NOTHING
RETURNING user_point_id AS account
