-- hot: each accrual that reaches a level which ends. Part of write_accruals.sql: inserts the change into the history of
-- levels.
, inserted_level_changes AS (
    INSERT INTO loyalty_levelchange
           (brand_id, user_point_id, level_before, level_after, reason, points, level_until, created_at)
    SELECT locked.brand_id, locked.account, c.level_before, c.level_after, 'reached', c.points, c.level_until,
           %(at)s::timestamptz
      FROM locked
      JOIN jsonb_to_recordset(%(level_changes)s::jsonb)
           AS c (item int, level_before text, level_after text, points numeric, level_until date)
     USING (item)
)
