-- hot: each milestone that gives a thing at once. Part of grant_things.sql: issues the codes of the things that
-- `locked` names. A thing already granted is not granted again. grants.grant_reward writes the same for one.
INSERT INTO loyalty_redemption
       (brand_id, user_point_id, reward_id, milestone_id, milestone_round, name, cost, balance_after, code, request_key,
        status, created_at, expires_at)
SELECT brand_id, account, reward_id, milestone_id, round, reward_name, 0, points, code, request_key, 'issued',
       %(at)s::timestamptz, %(at)s::timestamptz + make_interval(days => code_days)
  FROM locked
ON CONFLICT (user_point_id, milestone_id, milestone_round) WHERE milestone_id IS NOT NULL DO NOTHING
