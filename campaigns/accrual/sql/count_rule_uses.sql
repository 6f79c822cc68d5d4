-- hot: each accrual by a rule with limits per member. Part of write_accruals.sql: counts what the rules gave the
-- members in each period of a limit. A period later than the stored one starts at zero. `uses` is a JSON array.
, count_rule_uses AS (
    INSERT INTO campaigns_earningruleuse AS mine (rule_id, account_id, period, started, points, events)
    SELECT u.rule_id, locked.account, u.period, u.started, u.points, u.events
      FROM locked
      JOIN jsonb_to_recordset(%(uses)s::jsonb)
           AS u (item int, rule_id bigint, period text, started date, points numeric, events bigint) USING (item)
     ORDER BY u.rule_id, locked.account, u.period
    ON CONFLICT (rule_id, account_id, period)
    DO UPDATE SET started = excluded.started,
                  points = excluded.points + CASE WHEN mine.started = excluded.started THEN mine.points ELSE 0 END,
                  events = excluded.events + CASE WHEN mine.started = excluded.started THEN mine.events ELSE 0 END
)
