-- hot: each accrual and scan by a customer. Reads what up to 100 actions must know of their customers and brands. `asked`
-- is a JSON array of one row per action, of which `campaign_type` says which campaigns it advances, and `reason_ids` what
-- may have earned already. Returns SnapshotRow, no row for a user who is not active. Locks nothing: every change of points,
-- level or progress changes the account's row, so its `xmin` stands for all of it.
WITH asked AS (
    SELECT * FROM jsonb_to_recordset(%(asked)s::jsonb)
           AS a (item int, brand_id bigint, user_id bigint, campaign_type text, happened_at timestamptz,
                 reason_ids jsonb)
     LIMIT 100
)
SELECT a.item, b.time_zone, b.loyalty_active, b.auto_enroll, b.daily_point_limit, b.monthly_point_limit,
       m.user_point_id AS account, m.version::text AS version, m.status,
       coalesce(m.current_level, '') AS current_level, m.points AS balance,
       {lifetime} AS lifetime, m.points_owed AS owed,
       (SELECT json_agg(json_build_array(l.name, l.threshold::text, l.scan_reward_type, l.scan_reward_value::text)
                        ORDER BY l.threshold)
          FROM loyalty_brandlevel l WHERE l.brand_id = b.id) AS levels,
       -- The campaigns of the type that run at the moment, lowest id first, and where the customer stands in them.
       (SELECT json_agg(json_build_object(
                   'campaign_id', c.campaign_id, 'campaign_name', c.campaign_name, 'target', c.target_value,
                   'progress', COALESCE(h.progress, 0), 'achieved', h.milestones_achieved,
                   'milestones', (
                       SELECT json_agg(json_build_array(
                                  s.milestone_id, s.threshold, s.reward_name, s.reward_points::text, s.auto_claim,
                                  EXISTS (SELECT 1 FROM campaigns_rewardclaim r
                                           WHERE r.milestone_id = s.milestone_id AND r.user_id = a.user_id))
                              ORDER BY s.threshold)
                         FROM campaigns_milestone s WHERE s.campaign_id = c.campaign_id))
               ORDER BY c.campaign_id)
          FROM campaigns_campaign c
          LEFT JOIN user_loyalty_campaign h ON h.campaign_id = c.campaign_id AND h.user_id = a.user_id
         WHERE c.brand_id = a.brand_id AND c.type = a.campaign_type AND c.is_active
           AND (c.starts_at IS NULL OR c.starts_at <= a.happened_at)
           AND (c.ends_at IS NULL OR c.ends_at > a.happened_at)) AS campaigns,
       ARRAY(SELECT asked.reason_id FROM jsonb_array_elements_text(a.reason_ids) AS asked (reason_id)
              WHERE (SELECT true FROM loyalty_transaction t
                      WHERE t.user_point_id = m.user_point_id AND t.reason_id = asked.reason_id LIMIT 1)) AS claimed,
       -- Numbers for the action's new ledger entries; one that is never written leaves a gap.
       ARRAY(SELECT nextval('loyalty_transaction_loyalty_transaction_id_seq')
               FROM jsonb_array_elements(a.reason_ids)) AS numbers,
       (SELECT true FROM loyalty_walletpass w WHERE w.account_id = m.user_point_id LIMIT 1) AS has_passes,
       ARRAY(SELECT DISTINCT unnest(w.types) FROM loyalty_webhookendpoint w
              WHERE w.brand_id = b.id AND w.state = 'active') AS listened,
       (SELECT x.id FROM loyalty_externalsystem x WHERE x.brand_id = b.id AND x.is_active) AS external_system,
       (SELECT n.is_active FROM loyalty_notificationsettings n WHERE n.brand_id = b.id) AS sends_notifications,
       b.requires_confirmed_email AND u.email_verified_at IS NULL AS unconfirmed
  FROM asked a
  JOIN brands_brand b ON b.id = a.brand_id
  JOIN brands_user u ON u.id = a.user_id AND u.is_active
  LEFT JOIN LATERAL (
       SELECT m.*, m.xmin AS version FROM user_points m WHERE m.brand_id = b.id AND m.user_id = u.id LIMIT 1
       ) AS m ON true
