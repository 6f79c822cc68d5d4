-- hot: each scan and each accrual of a scan. Part of fetch_code.sql and fetch_codes.sql: everything that a scan needs
-- about a code and its customer, with one index look-up per table. Returns CodeSnapshot, no row if the code does not
-- exist. Locks nothing. `{code}`, `{at}`, `{scan_id}` and `{user_id}` are the scan's; `{stands}` is whether the user's
-- token is still valid, `{language}` the customer's language, `{listened}` the types to which the brand's webhooks
-- subscribe, `{member_state}` what earning rules need about the customer, `{reservation}` the scan that reserves a
-- used-up code for a user.
SELECT c.id, c.code, c.brand_id, c.batch_id, c.product_id, c.deactivated_at IS NOT NULL AS deactivated, c.scan_count,
       c.scan_count - c.slots_returned AS slots_used, h.scan_id AS reservation_id, h.scanned_at AS reserved_at,
       h.user_id AS reserved_for, c.first_scan_at, c.first_scan_location,
       COALESCE(c.points_per_scan, b.points_per_scan, p.redeem_point_value) AS redeem_point_value,
       b.scan_limit, b.expiration_date, b.tag_version, b.campaign_id, {campaign_permits} AS campaign_permits,
       p.is_active AS product_active, n.time_zone, n.loyalty_active, n.auto_enroll, n.max_points_per_scan, n.is_sandbox,
       p.sku, p.title, p.translations::text AS product_texts, p.category, p.tags, p.retail_price, p.picture_id,
       r.recall_id, r.contact AS recall_contact, r.message AS recall_message, r.translations::text AS recall_texts,
       m.user_point_id AS account, COALESCE(m.status, '') AS member_status,
       l.scan_reward_type AS reward_type, l.scan_reward_value AS reward_value,
       -- Codes sort by bytes, reasons do not: without the COLLATE this would read all of an account's entries.
       (SELECT true FROM loyalty_transaction t
         WHERE t.user_point_id = m.user_point_id AND t.reason_id = c.code COLLATE "default"
         LIMIT 1) IS NOT NULL
       OR m.merged_from IS NOT NULL AND EXISTS (
           SELECT FROM loyalty_transaction t
            WHERE t.user_point_id = ANY (m.merged_from) AND t.reason_id = c.code COLLATE "default") AS already_claimed,
       w.scan_id AS accepted_scan_id, COALESCE(w.reserves, false) AS accepted_scan_reserves,
       u.id IS NOT NULL OR {user_id} IS NULL AS user_active,
       n.requires_confirmed_email AND u.id IS NOT NULL AND u.email_verified_at IS NULL AS unconfirmed,
       'code.scanned' = ANY ({listened}) AS is_published,
       e.version AS rules_version, {member_state} AS member_state,
       {language} AS language
  FROM authcodes_authcode c
  JOIN authcodes_batchrange b ON b.id = c.batch_id
  JOIN brands_brand n ON n.id = c.brand_id
  LEFT JOIN authcodes_product p ON p.id = c.product_id
  -- This is null for most batches, and nothing is looked up.
  LEFT JOIN authcodes_recall r ON r.id = b.recall_id
       AND (b.recalled_to = '' OR c.code BETWEEN b.recalled_from AND b.recalled_to)
  LEFT JOIN campaigns_campaign g ON g.campaign_id = b.campaign_id
  LEFT JOIN brands_user u ON u.id = {user_id} AND u.is_active AND {stands}
  LEFT JOIN user_points m ON m.brand_id = c.brand_id AND m.user_id = {user_id}
  -- The customer's current level, else the brand's lowest; null at a brand without levels.
  LEFT JOIN LATERAL (
       SELECT v.scan_reward_type, v.scan_reward_value FROM loyalty_brandlevel v
        WHERE v.brand_id = c.brand_id ORDER BY v.name = m.current_level DESC NULLS LAST, v.threshold LIMIT 1
       ) l ON true
  LEFT JOIN LATERAL (
       SELECT s.version FROM campaigns_earningruleset s WHERE s.brand_id = c.brand_id AND {user_id} IS NOT NULL LIMIT 1
       ) e ON true
  LEFT JOIN LATERAL ({reservation}) h ON true
  LEFT JOIN LATERAL (
       SELECT s.scan_id, s.points_status = 'unconfirmed' AS reserves FROM authcodes_scan s
        WHERE {scan_id} IS NOT NULL AND s.user_id = {user_id} AND s.auth_code_id = c.id AND s.outcome = 'success'
          AND s.points_status <> 'lapsed' AND (s.reason = 'accepted' OR (p.is_active AND {campaign_permits}))
        ORDER BY s.scan_id = {scan_id} DESC, s.scanned_at LIMIT 1
       ) w ON true
 WHERE c.code = {code}
