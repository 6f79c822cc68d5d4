-- hot: each accrual by a rule with a budget, or with a milestone whose campaign has one. Part of write_accruals.sql,
-- after `items` and `candidates`. After the accounts it locks the rules' budgets in the order of rules, then the
-- campaigns' in the order of campaigns. `locked` has the candidates for which each budget suffices, counting the
-- earlier items of the same statement. So a budget is never overdrawn, however many accrue at once.
-- `budgets` is a JSON array of what each item takes from which rule, and of each rule's maximum; null means no maximum.
-- `campaign_budgets` is the same for campaigns.
, taking AS (
    SELECT w.item, w.rule_id, w.points, w.events, w.most_points, w.most_events,
           sum(w.points) OVER earlier AS points_so_far, sum(w.events) OVER earlier AS events_so_far
      FROM jsonb_to_recordset(%(budgets)s::jsonb)
           AS w (item int, rule_id bigint, points numeric, events bigint, most_points numeric, most_events bigint)
      JOIN candidates USING (item)
    WINDOW earlier AS (PARTITION BY w.rule_id ORDER BY w.item)
), budgets AS (
    SELECT b.rule_id, b.points, b.events FROM campaigns_earningrulebudgetuse b
     WHERE b.rule_id = ANY (ARRAY(SELECT t.rule_id FROM taking t))
     ORDER BY b.rule_id
       FOR NO KEY UPDATE
), taking_of_campaigns AS (
    SELECT w.item, w.campaign_id, w.points, w.most,
           sum(w.points) OVER (PARTITION BY w.campaign_id ORDER BY w.item) AS points_so_far
      FROM jsonb_to_recordset(%(campaign_budgets)s::jsonb)
           AS w (item int, campaign_id bigint, points numeric, most numeric)
      JOIN candidates USING (item)
), campaign_budgets AS (
    -- All of the rules' budgets first: every statement that locks both kinds uses this order.
    SELECT s.campaign_id, s.points FROM campaigns_campaignbudgetuse s
     WHERE s.campaign_id = ANY (ARRAY(SELECT t.campaign_id FROM taking_of_campaigns t))
       AND (SELECT count(*) FROM budgets) >= 0
     ORDER BY s.campaign_id
       FOR NO KEY UPDATE
), locked AS (
    SELECT c.item, c.account, c.brand_id FROM candidates c
     WHERE NOT EXISTS (
           SELECT FROM taking t LEFT JOIN budgets b USING (rule_id)
            WHERE t.item = c.item
              AND (b.rule_id IS NULL OR b.points + t.points_so_far > t.most_points
                   OR b.events + t.events_so_far > t.most_events))
       AND NOT EXISTS (
           SELECT FROM taking_of_campaigns t LEFT JOIN campaign_budgets s USING (campaign_id)
            WHERE t.item = c.item AND (s.campaign_id IS NULL OR s.points + t.points_so_far > t.most))
), taken_of_budgets AS (
    UPDATE campaigns_earningrulebudgetuse b
       SET points = b.points + taken.points, events = b.events + taken.events,
           used_up_at = CASE WHEN b.points + taken.points >= taken.most_points
                               OR b.events + taken.events >= taken.most_events
                             THEN coalesce(b.used_up_at, %(at)s::timestamptz) ELSE b.used_up_at END
      FROM (SELECT t.rule_id, sum(t.points) AS points, sum(t.events) AS events, min(t.most_points) AS most_points,
                   min(t.most_events) AS most_events
              FROM taking t JOIN locked USING (item) GROUP BY t.rule_id) taken
     WHERE b.rule_id = taken.rule_id
), taken_of_campaigns AS (
    UPDATE campaigns_campaignbudgetuse s SET points = s.points + taken.points
      FROM (SELECT t.campaign_id, sum(t.points) AS points FROM taking_of_campaigns t JOIN locked USING (item)
             GROUP BY t.campaign_id) taken
     WHERE s.campaign_id = taken.campaign_id
)
