-- check: every reward that a milestone gave in the customer's current round. Returns a Contradiction for each whose
-- customer has not achieved the milestone in it.
SELECT format('user %%s, milestone %%s', r.user_id, r.milestone_id) AS subject, 'achieved' AS expected,
       'not achieved' AS actual
  FROM campaigns_rewardclaim r JOIN campaigns_milestone m USING (milestone_id)
  LEFT JOIN user_loyalty_campaign p ON p.user_id = r.user_id AND p.campaign_id = m.campaign_id
 WHERE p.id IS NULL OR r.round > p.round OR (r.round = p.round AND NOT r.milestone_id = ANY (p.milestones_achieved))
