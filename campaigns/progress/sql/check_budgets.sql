-- check: what the milestones of each campaign with a budget have paid, by the customers' rewards. Returns a
-- Contradiction for each budget with another count.
SELECT format('campaign %%s', c.campaign_id) AS subject, trim_scale(coalesce(paid.points, 0))::text AS expected,
       trim_scale(s.points)::text AS actual
  FROM campaigns_campaign c
  JOIN campaigns_campaignbudgetuse s USING (campaign_id)
  LEFT JOIN LATERAL (
       SELECT sum(coalesce(r.points, m.reward_points)) AS points
         FROM campaigns_milestone m JOIN campaigns_rewardclaim r USING (milestone_id)
        WHERE m.campaign_id = c.campaign_id) AS paid ON true
 WHERE c.budget IS NOT NULL AND s.points <> coalesce(paid.points, 0)
