-- check: every customer's progress in every campaign against the outcomes of the events that advanced it. Returns
-- Contradiction for each that differs. At the goal an action counts no more, so each value at or above the goal of its time
-- counts once. Each step that a returned order took back counts against it. Events about points are kept for 30 days at least: older progress may have begun with events that are kept
-- no longer.
WITH reached AS (
    SELECT (e.detail->'arguments'->>'user_id')::bigint AS user_id,
           (c->>'campaign_id')::bigint AS campaign_id, (c->>'progress')::int AS progress,
           greatest(count(*) FILTER (WHERE (c->>'progress')::int < (c->>'target')::int), 1) AS actions
      FROM events_event e, jsonb_array_elements(e.outcome->'campaigns') AS c
     WHERE e.status = 'done' GROUP BY 1, 2, 3
), returned AS (
    SELECT (e.detail->'arguments'->>'user_id')::bigint AS user_id, (c->>'campaign_id')::bigint AS campaign_id,
           count(*) AS steps
      FROM events_event e, jsonb_array_elements(e.outcome->'campaigns_stepped_back') AS c
     WHERE e.status = 'done' GROUP BY 1, 2
), advanced AS (
    SELECT user_id, campaign_id, sum(actions) - coalesce(max(steps), 0) AS actions,
           max(progress) - coalesce(max(steps), 0) AS furthest
      FROM reached LEFT JOIN returned USING (user_id, campaign_id) GROUP BY 1, 2
)
SELECT format('user %%s in campaign %%s', user_id, campaign_id) AS about, coalesce(a.actions, 0)::text AS expected,
       coalesce(p.progress, 0)::text AS actual
  FROM advanced a FULL JOIN user_loyalty_campaign p USING (user_id, campaign_id)
 WHERE CASE WHEN p."createdAt" < now() - interval '30 days'
            THEN greatest(a.actions, a.furthest) > p.progress
            ELSE coalesce(a.actions, 0) <> coalesce(p.progress, 0) END
