-- set: each chunk of level periods. Writes the given accounts' state from parallel arrays: level, lifetime points that
-- count, first day of the period, the level's end, the end that they were warned of, and when they are due again. Only
-- a change of level marks the account as changed for programs that copy accounts. The accounts must be locked already.
UPDATE user_points a
   SET current_level = s.level, points_before_period = {lifetime} - s.counted, period_from = s.period_from,
       level_until = s.level_until, level_warned_until = s.warned_until, level_due_at = s.due_at,
       "updatedAt" = CASE WHEN a.current_level = s.level THEN a."updatedAt" ELSE %(at)s::timestamptz END
  FROM unnest(%(accounts)s::bigint[], %(levels)s::text[], %(counted)s::numeric[], %(periods)s::date[],
              %(untils)s::date[], %(warned)s::date[], %(dues)s::timestamptz[])
       AS s (account, level, counted, period_from, level_until, warned_until, due_at)
 WHERE a.user_point_id = s.account
