-- hot: each accrual. Writes everything that up to 100 accruals change, in one statement that commits by itself:
--
--   items ──> locked ──┬──> inserted_entries      the ledger
--                      ├──> inserted_pending      those of its points that are not part of the balance yet
--                      ├──> moved_balances        the accounts' points and levels
--                      ├──> advanced_progress     the customers' progress in campaigns
--                      ├──> given_rewards         the rewards that they reached there
--                      ├──> finished_events       the events that brought the actions
--                      ├──> inserted_events       the events that follow
--                      ├──> count_rule_uses        what rules with limits gave, if any did
--                      ├──> insert_level_changes   levels reached that end, if any
--                      └──> extra_cte             what the caller adds, such as the scan's points
--
-- `items` is a JSON array of one row per accrual: its number, account, the account's version (xmin) when its snapshot
-- was read, event and attempt. `locked` locks each item's account and event, in the order of accounts. An item whose
-- account or event has changed since has no row there, and nothing is written for it. `within_budgets` then leaves out
-- the items for which the budget of a rule or campaign no longer suffices. The other parameters are JSON arrays of rows
-- that name their `item`. Returns the items written.
--
-- `= ANY` instead of `=` keeps PostgreSQL from a hash join over all accounts: it always expects 100 items.
WITH items AS (
    SELECT * FROM jsonb_to_recordset(%(items)s::jsonb)
           AS i (item int, account bigint, version text, event_id bigint, attempts int)
     LIMIT 100
), {locked} AS (
    SELECT i.item, a.user_point_id AS account, a.brand_id
      FROM items i
      JOIN user_points a ON a.user_point_id = ANY (ARRAY[i.account]) AND a.xmin = ANY (ARRAY[i.version::xid])
      JOIN events_event e ON e.id = i.event_id AND e.attempts = i.attempts AND e.finished_at IS NULL
     ORDER BY a.user_point_id
       FOR NO KEY UPDATE OF a, e
){within_budgets}, inserted_entries AS (
    -- The unique pair (account, reason_id) decides: a second entry for a reason is an error.
    INSERT INTO loyalty_transaction
           (loyalty_transaction_id, brand_id, user_point_id, points_earned, points_redeemed, points_expired,
            points_reversed, points_pending, reason, reason_id, note, details, "createdAt", "updatedAt")
    SELECT coalesce(entry.number, nextval('loyalty_transaction_loyalty_transaction_id_seq')), locked.brand_id,
           locked.account,
           CASE entry.reason WHEN 'earned' THEN entry.points ELSE 0 END, 0, 0,
           CASE entry.reason WHEN 'reversed' THEN entry.points ELSE 0 END,
           CASE entry.reason WHEN 'pending' THEN entry.points ELSE 0 END,
           entry.reason, entry.reason_id, entry.note, entry.details, %(at)s::timestamptz, %(at)s::timestamptz
      FROM locked
      JOIN jsonb_to_recordset(%(entries)s::jsonb)
           AS entry (item int, number bigint, points numeric, reason text, reason_id text, note text, details jsonb)
     USING (item)
), inserted_pending AS (
    INSERT INTO loyalty_pendingpoints (entry_id, user_point_id, points, remaining, release_at, created_at)
    SELECT entry.number, locked.account, entry.points, entry.points, entry.release_at, %(at)s::timestamptz
      FROM locked
      JOIN jsonb_to_recordset(%(entries)s::jsonb)
           AS entry (item int, number bigint, points numeric, reason text, release_at timestamptz)
     USING (item)
     WHERE entry.reason = 'pending'
), moved_balances AS (
    UPDATE user_points
       SET points = points + moved.awarded - moved.settled, points_earned = points_earned + moved.awarded,
           points_reversed = points_reversed + moved.settled, points_owed = points_owed - moved.settled,
           points_pending = points_pending + moved.pending,
           current_level = moved.level, "updatedAt" = %(at)s::timestamptz{set_level_until}
      FROM locked
      JOIN jsonb_to_recordset(%(balances)s::jsonb)
           AS moved (item int, awarded numeric, settled numeric, pending numeric, level text)
     USING (item)
     WHERE user_point_id = locked.account
), advanced_progress AS (
    -- What the action counts in each campaign. `step.progress` was computed from the current row, because every change
    -- of progress changes the account too. Progress beyond the goal, from before it stopped there, is retained; a new
    -- round begins at zero.
    INSERT INTO user_loyalty_campaign AS mine
           (user_id, campaign_id, progress, round, milestones_achieved, products, "createdAt", "updatedAt")
    SELECT step.user_id, step.campaign_id, step.progress, step.round, step.achieved, step.products,
           %(at)s::timestamptz, %(at)s::timestamptz
      FROM locked
      JOIN jsonb_to_recordset(%(steps)s::jsonb)
           AS step (item int, user_id bigint, campaign_id bigint, progress numeric, round int, achieved bigint[],
                    products bigint[])
     USING (item)
    ON CONFLICT (user_id, campaign_id)
    DO UPDATE SET "updatedAt" = excluded."updatedAt", round = excluded.round,
                  progress = CASE WHEN excluded.round > mine.round THEN excluded.progress
                                  ELSE greatest(mine.progress, excluded.progress) END,
                  products = CASE WHEN excluded.round > mine.round THEN excluded.products
                                  ELSE mine.products || excluded.products END,
                  milestones_achieved = CASE WHEN excluded.round > mine.round THEN excluded.milestones_achieved
                                             ELSE mine.milestones_achieved || excluded.milestones_achieved END
), given_rewards AS (
    -- The rewards of the milestones reached, each once in a round.
    INSERT INTO campaigns_rewardclaim (milestone_id, user_id, round, points, status, created_at, claimed_at)
    SELECT reward.milestone_id, reward.user_id, reward.round, reward.points,
           CASE WHEN reward.claimed THEN 'claimed' ELSE 'available' END,
           %(at)s::timestamptz, CASE WHEN reward.claimed THEN %(at)s::timestamptz END
      FROM locked
      JOIN jsonb_to_recordset(%(rewards)s::jsonb)
           AS reward (item int, user_id bigint, milestone_id bigint, round int, points numeric, claimed boolean)
     USING (item)
    ON CONFLICT (milestone_id, user_id, round) DO NOTHING
), finished_events AS (
    UPDATE events_event e
       SET status = 'done', outcome = ended.outcome, finished_at = statement_timestamp(), last_error = ''
      FROM locked
      JOIN jsonb_to_recordset(%(endings)s::jsonb) AS ended (item int, event_id bigint, outcome jsonb) USING (item)
     WHERE e.id = ended.event_id
), inserted_events AS (
    {insert_events}
)
{count_rule_uses}
{insert_level_changes}
{extra_cte}
SELECT item FROM locked
