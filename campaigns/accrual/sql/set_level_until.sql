-- hot: each accrual that reaches a level which ends. Part of write_accruals.sql: sets the last day of the level.
, level_until = (SELECT c.level_until FROM jsonb_to_recordset(%(level_changes)s::jsonb) AS c (item int, level_until date)
                  WHERE c.item = moved.item)
