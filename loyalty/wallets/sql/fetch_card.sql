-- hot: each update of a pass: after a change of a brand every phone requests one within minutes. Everything that an
-- account's card displays, with the brand's primary hostname and its levels from the lowest. Returns CardContents.
-- Locks nothing.
SELECT m.points, m.points_pending AS pending,
       CASE WHEN b.level_period = 'lifetime' THEN {lifetime} ELSE {lifetime} - m.points_before_period END AS counted,
       CASE WHEN b.level_period <> 'lifetime' THEN m.level_until END AS level_until, m.current_level, m.status,
       COALESCE(m.first_name, u.first_name) AS first_name, COALESCE(m.last_name, u.last_name) AS last_name, u.is_active,
       b.id AS brand_id, b.name AS brand_name, b.colour_background, b.colour_text, b.colour_accent, b.logo_id,
       b.support_email, b.is_sandbox,
       (SELECT h.hostname FROM brands_brandhostname h WHERE h.brand_id = b.id
         ORDER BY h.is_primary DESC, h.hostname LIMIT 1) AS hostname,
       (SELECT json_agg(json_build_array(l.name, l.threshold::text, l.scan_reward_type, l.scan_reward_value::text,
                                         l.translations)
                        ORDER BY l.threshold)
          FROM loyalty_brandlevel l WHERE l.brand_id = b.id) AS levels,
       COALESCE((SELECT NULLIF(o.language, '') FROM loyalty_notificationpreference o
                  WHERE o.brand_id = b.id AND o.user_id = u.id),
                (SELECT s.language FROM loyalty_notificationsettings s WHERE s.brand_id = b.id), '') AS language
  FROM user_points m
  JOIN brands_user u ON u.id = m.user_id
  JOIN brands_brand b ON b.id = m.brand_id
 WHERE m.user_point_id = %(account)s::bigint
