-- hot: each milestone that gives a thing at once. Issues the codes of up to 100 such things and finishes their events,
-- in one statement that commits by itself. `items` is a JSON array of one row per event: its number, event and attempt,
-- its user, the milestone with its round, and the code. Left out are blocked or merged members, inactive programmes,
-- and rewards with limited stock or partner codes, as locked_account and grant_reward do for one. Accounts locked by
-- others are skipped too: waiting would delay those of other brands. Locks the accounts and the events. Returns the
-- items that are done.
WITH items AS (
    SELECT * FROM jsonb_to_recordset(%(items)s::jsonb)
           AS i (item int, event_id bigint, attempts int, brand_id bigint, user_id bigint, milestone_id bigint, round int,
                 code text, request_key uuid)
     LIMIT 100
), locked AS (
    SELECT i.item, i.event_id, i.brand_id, i.milestone_id, i.round, i.code, i.request_key,
           a.user_point_id AS account, a.points, m.reward_id, m.reward_name, r.code_days
      FROM items i
      JOIN user_points a ON a.user_id = ANY (ARRAY[i.user_id]) AND a.brand_id = i.brand_id AND a.status = 'active'
      JOIN brands_brand n ON n.id = i.brand_id AND n.loyalty_active
      JOIN campaigns_milestone m ON m.milestone_id = i.milestone_id
      JOIN campaigns_campaign c ON c.campaign_id = m.campaign_id AND c.brand_id = i.brand_id
      LEFT JOIN loyalty_reward r ON r.id = m.reward_id
      JOIN events_event e ON e.id = i.event_id AND e.attempts = i.attempts AND e.finished_at IS NULL
     WHERE r.id IS NULL OR (r.stock IS NULL AND NOT r.uses_pool)
       FOR NO KEY UPDATE OF a, e SKIP LOCKED
), granted AS (
{insert_granted}
), finished AS (
{finish_locked}
)
SELECT item FROM locked
