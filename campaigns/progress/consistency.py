"""Proves that progress and rewards are what the events say; changes nothing."""

# Each statement returns one row per contradiction: what it is about, what was expected, what was found.
CHECKS = {
    # At the goal an action counts no more, so each value at or above the goal of its time counts once. Events about
    # points are kept for 30 days at least: older progress may have begun with events that are kept no longer.
    "progress is not the number of actions that advanced it": """
        WITH reached AS (
            SELECT (e.detail->'arguments'->>'user_id')::bigint AS user_id,
                   (c->>'campaign_id')::bigint AS campaign_id, (c->>'progress')::int AS progress,
                   greatest(count(*) FILTER (WHERE (c->>'progress')::int < (c->>'target')::int), 1) AS actions
              FROM events_event e, jsonb_array_elements(e.outcome->'campaigns') AS c
             WHERE e.status = 'done' GROUP BY 1, 2, 3),
        advanced AS (
            SELECT user_id, campaign_id, sum(actions) AS actions, max(progress) AS furthest
              FROM reached GROUP BY 1, 2)
        SELECT format('user %s in campaign %s', user_id, campaign_id), coalesce(a.actions, 0)::text,
               coalesce(p.progress, 0)::text
          FROM advanced a FULL JOIN user_loyalty_campaign p USING (user_id, campaign_id)
         WHERE CASE WHEN p."createdAt" < now() - interval '30 days'
                    THEN greatest(a.actions, a.furthest) > p.progress
                    ELSE coalesce(a.actions, 0) <> coalesce(p.progress, 0) END
    """,
    "reward was given but its milestone is not achieved": """
        SELECT format('user %s, milestone %s', r.user_id, r.milestone_id), 'achieved', 'not achieved'
          FROM campaigns_rewardclaim r JOIN campaigns_milestone m USING (milestone_id)
          LEFT JOIN user_loyalty_campaign p ON p.user_id = r.user_id AND p.campaign_id = m.campaign_id
         WHERE p.id IS NULL OR NOT r.milestone_id = ANY (p.milestones_achieved)
    """,
}
