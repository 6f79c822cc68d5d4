-- hot: each redemption. Everything that decides it, and who is notified; read after the account is locked, so that it
-- includes the member's concurrent changes. Returns RedemptionSnapshot; `name` is NULL if the brand sells no such
-- reward; `stock` of a reward that hands out partner codes is 1 while its pool has any.
SELECT b.loyalty_active, m.status, m.points AS balance, coalesce(m.current_level, '') AS level,
       coalesce(held.threshold, lowest.threshold, 0) AS level_threshold,
       r.name, r.cost, r.is_active, r.valid_from, r.valid_until,
       CASE WHEN r.uses_pool THEN EXISTS (SELECT FROM loyalty_poolcode c
                                           WHERE c.reward_id = r.id AND c.redemption_id IS NULL
                                             AND (c.expires_at IS NULL OR c.expires_at > %(at)s::timestamptz))::int
            ELSE r.stock END AS stock, r.uses_pool, r.limit_per_member, r.code_days,
       coalesce(needed.name, '') AS needed_level, needed.threshold AS needed_threshold,
       (SELECT count(*) FROM loyalty_redemption t
         WHERE t.user_point_id = m.user_point_id AND t.reward_id = r.id AND t.status <> 'cancelled'
           AND t.milestone_id IS NULL) AS taken,
       (SELECT t.id FROM loyalty_redemption t
         WHERE t.user_point_id = m.user_point_id AND t.request_key = %(request_key)s::uuid) AS earlier_id,
       nextval('loyalty_redemption_id_seq') AS redemption_id,
       EXISTS (SELECT 1 FROM loyalty_walletpass w WHERE w.account_id = m.user_point_id) AS has_passes,
       ARRAY(SELECT DISTINCT unnest(w.types) FROM loyalty_webhookendpoint w
              WHERE w.brand_id = b.id AND w.state = 'active') AS listened,
       r.segment_id,
       EXISTS (SELECT 1 FROM loyalty_segmentmember s
                WHERE s.segment_id = r.segment_id AND s.account_id = m.user_point_id) AS in_segment
  FROM user_points m
  JOIN brands_brand b ON b.id = m.brand_id
  LEFT JOIN loyalty_reward r ON r.id = %(reward_id)s::bigint AND r.brand_id = b.id AND r.cost IS NOT NULL
  LEFT JOIN loyalty_brandlevel needed ON needed.id = r.minimum_level_id
  LEFT JOIN loyalty_brandlevel held ON held.brand_id = b.id AND held.name = m.current_level
  LEFT JOIN LATERAL (SELECT l.threshold FROM loyalty_brandlevel l WHERE l.brand_id = b.id
                      ORDER BY l.threshold LIMIT 1) lowest ON true
 WHERE m.user_point_id = %(account)s::bigint
