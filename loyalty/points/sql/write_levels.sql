-- set: each chunk of level periods. Writes where the accounts given stand, parallel arrays: level, what of their lifetime
-- points counts, from which day, the level's end, the end that they were warned of, and when they are due again. Only a
-- change of level makes the account a changed one for who keeps a copy. The accounts must be locked already.
UPDATE user_points a
   SET current_level = s.level, points_before_period = {lifetime} - s.counted, period_from = s.period_from,
       level_until = s.level_until, level_warned_until = s.warned_until, level_due_at = s.due_at,
       "updatedAt" = CASE WHEN a.current_level = s.level THEN a."updatedAt" ELSE %(at)s::timestamptz END
  FROM unnest(%(accounts)s::bigint[], %(levels)s::text[], %(counted)s::numeric[], %(periods)s::date[],
              %(untils)s::date[], %(warned)s::date[], %(dues)s::timestamptz[])
       AS s (account, level, counted, period_from, level_until, warned_until, due_at)
 WHERE a.user_point_id = s.account
