-- hot: each accrual and scan by a customer. Reads what up to 100 actions need to know about their customers and brands.
-- `actions` is a JSON array of one row per action: `campaign_type` is the type of the campaigns that it advances, and
-- `reason_ids` are the reasons that may have earned already. The following are only read if the brand's earning rules
-- or the conditions of a running campaign need them: `limited` names the rules whose limits are read, `wants_earlier`
-- counts the member's earlier actions of this `kind`, `wants_last` reads when points were last earned,
-- `wants_catalogue` the catalogue's data of `products` and `skus`, `wants_segments` the member's segments. Returns
-- SnapshotRow, no row for a user who is not active. Locks nothing: every change of points, level, progress or a rule's
-- use changes the account's row, so its `xmin` covers them all; budgets are checked again when they are written.
WITH actions AS (
    SELECT * FROM jsonb_to_recordset(%(actions)s::jsonb)
           AS a (item int, brand_id bigint, user_id bigint, campaign_type text, happened_at timestamptz,
                 reason_ids jsonb, limited bigint[], kind text, wants_earlier boolean, wants_last boolean,
                 wants_catalogue boolean, products bigint[], skus text[], wants_segments boolean)
     LIMIT 100
)
SELECT a.item, b.time_zone, b.loyalty_active, b.auto_enroll, b.daily_point_limit, b.monthly_point_limit,
       m.user_point_id AS account, m.version::text AS version, m.status,
       coalesce(m.current_level, '') AS current_level, m.points AS balance,
       {lifetime} AS lifetime, m.points_owed AS owed,
       b.level_period, b.level_period_months, m.points_before_period, m.period_from, m.level_due_at,
       (SELECT json_agg(json_build_array(l.name, l.threshold::text, l.scan_reward_type, l.scan_reward_value::text)
                        ORDER BY l.threshold)
          FROM loyalty_brandlevel l WHERE l.brand_id = b.id) AS levels,
       running.campaigns,
       ARRAY(SELECT named.reason_id FROM jsonb_array_elements_text(a.reason_ids) AS named (reason_id)
              WHERE (SELECT true FROM loyalty_transaction t
                      WHERE t.user_point_id = m.user_point_id AND t.reason_id = named.reason_id LIMIT 1)
                 OR m.merged_from IS NOT NULL AND EXISTS (
                     SELECT FROM loyalty_transaction t
                      WHERE t.user_point_id = ANY (m.merged_from) AND t.reason_id = named.reason_id)) AS claimed,
       -- Ids for the action's new ledger entries; an id that is never used leaves a gap.
       ARRAY(SELECT nextval('loyalty_transaction_loyalty_transaction_id_seq')
               FROM jsonb_array_elements(a.reason_ids)) AS numbers,
       (SELECT true FROM loyalty_walletpass w WHERE w.account_id = m.user_point_id LIMIT 1) AS has_passes,
       ARRAY(SELECT DISTINCT unnest(w.types) FROM loyalty_webhookendpoint w
              WHERE w.brand_id = b.id AND w.state = 'active') AS listened,
       (SELECT x.id FROM loyalty_externalsystem x WHERE x.brand_id = b.id AND x.is_active) AS external_system,
       (SELECT n.is_active FROM loyalty_notificationsettings n WHERE n.brand_id = b.id) AS sends_notifications,
       b.requires_confirmed_email AND u.email_verified_at IS NULL AS unconfirmed,
       (SELECT r.version FROM campaigns_earningruleset r WHERE r.brand_id = b.id) AS rules_version,
       CASE
           WHEN NOT (coalesce(a.wants_earlier, false) OR coalesce(running.need_earlier, false)) THEN NULL
           WHEN a.kind = 'order-complete' THEN (
               SELECT count(*) FROM loyalty_transaction t
                WHERE t.user_point_id = ANY (m.user_point_id || m.merged_from) AND t.reason IN ('earned', 'pending')
                  AND t.reason_id LIKE 'order:%%')
           WHEN a.kind = 'scan-auth' THEN (
               SELECT count(*) FROM loyalty_transaction t
                WHERE t.user_point_id = ANY (m.user_point_id || m.merged_from) AND t.reason IN ('earned', 'pending')
                  AND strpos(t.reason_id, ':') = 0)
           ELSE (  -- a kind of the brand's own
               SELECT count(*) FROM loyalty_transaction t
                WHERE t.user_point_id = ANY (m.user_point_id || m.merged_from) AND t.reason = 'earned'
                  AND t.reason_id LIKE 'event:' || a.kind || ':%%')
       END AS earlier,
       CASE WHEN a.wants_last OR running.need_last THEN greatest((
           SELECT t."createdAt" FROM loyalty_transaction t
            WHERE t.user_point_id = m.user_point_id AND t.reason IN ('earned', 'pending')
              AND t.reason_id !~ '{no_actions}'
            ORDER BY t.loyalty_transaction_id DESC LIMIT 1), CASE WHEN m.merged_from IS NOT NULL THEN (
           SELECT max(t."createdAt") FROM loyalty_transaction t
            WHERE t.user_point_id = ANY (m.merged_from) AND t.reason IN ('earned', 'pending')
              AND t.reason_id !~ '{no_actions}') END)
       END AS last_at,
       CASE WHEN a.limited IS NOT NULL THEN json_build_object(
           'uses', (
               SELECT json_agg(json_build_array(x.rule_id, x.period, x.started, x.points::text, x.events))
                 FROM campaigns_earningruleuse x
                WHERE x.rule_id = ANY (a.limited) AND x.account_id = m.user_point_id),
           'budgets', (
               SELECT json_agg(json_build_array(x.rule_id, x.points::text, x.events))
                 FROM campaigns_earningrulebudgetuse x WHERE x.rule_id = ANY (a.limited)))
       END AS used,
       CASE WHEN a.products IS NOT NULL AND (a.wants_catalogue OR running.need_catalogue) THEN (
           SELECT json_agg(json_build_array(p.id, p.sku, p.category, p.tags))
             FROM authcodes_product p
            WHERE p.brand_id = b.id AND (p.id = ANY (a.products) OR p.sku = ANY (a.skus)))
       END AS catalogue,
       CASE WHEN a.wants_segments OR running.need_segments THEN ARRAY(
           SELECT x.segment_id FROM loyalty_segmentmember x WHERE x.account_id = m.user_point_id)
       END AS segments
  FROM actions a
  JOIN brands_brand b ON b.id = a.brand_id
  JOIN brands_user u ON u.id = a.user_id AND u.is_active
  LEFT JOIN LATERAL (
       SELECT m.*, m.xmin AS version FROM user_points m WHERE m.brand_id = b.id AND m.user_id = u.id LIMIT 1
       ) AS m ON true
  -- The running campaigns of the type, lowest id first, and the customer's progress in them.
  LEFT JOIN LATERAL (
       SELECT json_agg(json_build_object(
                  'campaign_id', c.campaign_id, 'campaign_name', c.campaign_name, 'target', c.target_value,
                  'step_by', c.step_by, 'is_repeatable', c.is_repeatable,
                  'conditions', CASE WHEN c.conditions <> '{}' THEN c.conditions::text END,
                  'budget', c.budget::text,
                  'spent', CASE WHEN c.budget IS NOT NULL THEN (
                      SELECT s.points::text FROM campaigns_campaignbudgetuse s WHERE s.campaign_id = c.campaign_id) END,
                  'progress', COALESCE(h.progress, 0)::text, 'round', COALESCE(h.round, 1), 'products', h.products,
                  'achieved', h.milestones_achieved,
                  'milestones', (
                      SELECT json_agg(json_build_array(
                                 s.milestone_id, s.threshold, s.reward_name, s.reward_points::text, s.auto_claim,
                                 EXISTS (SELECT 1 FROM campaigns_rewardclaim r
                                          WHERE r.milestone_id = s.milestone_id AND r.user_id = a.user_id
                                            AND r.round = COALESCE(h.round, 1)))
                             ORDER BY s.threshold)
                        FROM campaigns_milestone s WHERE s.campaign_id = c.campaign_id))
              ORDER BY c.campaign_id) AS campaigns,
              bool_or(c.conditions <> '{}' OR c.step_by = 'products') AS need_catalogue,
              bool_or(c.conditions @? '$.**.field ? (@ == "nth")') AS need_earlier,
              bool_or(c.conditions @? '$.**.field ? (@ == "days_since_last")') AS need_last,
              bool_or(c.conditions @? '$.**.field ? (@ == "segment")') AS need_segments
         FROM campaigns_campaign c
         LEFT JOIN user_loyalty_campaign h ON h.campaign_id = c.campaign_id AND h.user_id = a.user_id
        WHERE c.brand_id = a.brand_id AND c.type = a.campaign_type AND c.is_active
          AND (c.starts_at IS NULL OR c.starts_at <= a.happened_at)
          AND (c.ends_at IS NULL OR c.ends_at > a.happened_at)
       ) AS running ON true
