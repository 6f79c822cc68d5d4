-- check: every customer's progress in every campaign against the outcomes of the events that advanced it. Returns a
-- Contradiction for each difference. In an outcome without a `step`, an action counted one: actions at the goal count
-- no more, so each value at or above the goal of its time counts once. A `step` is what the outcome's round counted.
-- Only the customer's current round is compared, and nothing if an account merge has added two customers' progress.
-- What returned orders took back is subtracted. Events about points are retained for at least 30 days: older progress
-- may have begun with events that were deleted.
WITH counted AS (
    SELECT (e.detail->'arguments'->>'user_id')::bigint AS user_id, (c->>'campaign_id')::bigint AS campaign_id,
           coalesce((c->>'round')::int, 1) AS round, coalesce((c->>'exact_progress')::numeric, (c->>'progress')::numeric) AS progress,
           (c->>'target')::int AS target, (c->>'step')::numeric AS step
      FROM events_event e, jsonb_array_elements(e.outcome->'campaigns') AS c
     WHERE e.status = 'done'
), reached AS (
    SELECT user_id, campaign_id, round, progress, step IS NULL AS is_plain,
           CASE WHEN step IS NULL THEN greatest(count(*) FILTER (WHERE progress < target), 1) ELSE sum(step) END AS steps
      FROM counted GROUP BY user_id, campaign_id, round, progress, step IS NULL, step
), returned AS (
    SELECT (e.detail->'arguments'->>'user_id')::bigint AS user_id, (c->>'campaign_id')::bigint AS campaign_id,
           coalesce((c->>'round')::int, 1) AS round, sum(coalesce((c->>'step')::numeric, 1)) AS steps
      FROM events_event e, jsonb_array_elements(e.outcome->'campaigns_stepped_back') AS c
     WHERE e.status = 'done' GROUP BY 1, 2, 3
), advanced AS (
    SELECT user_id, campaign_id, round, sum(r.steps) - coalesce(max(b.steps), 0) AS steps,
           max(progress) - coalesce(max(b.steps), 0) AS furthest
      FROM reached r LEFT JOIN returned b USING (user_id, campaign_id, round) GROUP BY 1, 2, 3
), latest AS (
    SELECT DISTINCT ON (user_id, campaign_id) * FROM advanced ORDER BY user_id, campaign_id, round DESC
)
SELECT format('user %%s in campaign %%s', user_id, campaign_id) AS subject, trim_scale(coalesce(a.steps, 0))::text AS expected,
       trim_scale(coalesce(p.progress, 0))::text AS actual
  FROM latest a FULL JOIN user_loyalty_campaign p USING (user_id, campaign_id)
 WHERE NOT EXISTS (
       SELECT FROM loyalty_accountmerge g JOIN user_points k ON k.user_point_id = g.target_id
        WHERE k.user_id = p.user_id AND g.undone_at IS NULL
          AND g.moved -> 'progress' @> jsonb_build_array(jsonb_build_object('campaign_id', p.campaign_id)))
   AND CASE WHEN p."createdAt" < now() - interval '30 days'
            THEN a.round = p.round AND greatest(a.steps, a.furthest) > p.progress
            ELSE coalesce(a.steps, 0) <> coalesce(p.progress, 0) OR a.round <> p.round END
