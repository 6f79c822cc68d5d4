-- check: every account that follows a brand's level periods, against the history of levels. Returns a Contradiction for
-- each whose level is not that of its last change, and for each level above the lowest that has no end.
SELECT 'account ' || a.user_point_id AS subject,
       CASE WHEN h.level_after <> a.current_level THEN 'level ' || h.level_after ELSE 'an end of the level' END AS expected,
       format('level %%s until %%s', a.current_level, a.level_until) AS actual
  FROM user_points a
  LEFT JOIN loyalty_brandlevel own ON own.brand_id = a.brand_id AND own.name = a.current_level
  LEFT JOIN LATERAL (SELECT c.level_after FROM loyalty_levelchange c WHERE c.user_point_id = a.user_point_id
                      ORDER BY c.id DESC LIMIT 1) h ON true
 WHERE a.period_from IS NOT NULL
   AND (h.level_after <> a.current_level OR (own.threshold > 0 AND a.level_until IS NULL))
