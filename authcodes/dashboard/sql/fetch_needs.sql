-- set: Home. What needs attention, in the brands where the user may see it: each kind has its own list of brands.
-- Returns Need, the most urgent of each kind first, at most `{most}` per kind; events, reports and requests are counted
-- by brand. Locks nothing.
(SELECT 'recall' AS kind, r.brand_id, r.id AS row_id, r.recall_id::text AS name,
        (NOT EXISTS (SELECT 1 FROM jobs_job j WHERE j.brand_id = r.brand_id AND j.kind = 'notify-recall'
                        AND j.parameters ->> 'recall' = r.id::text))::int::bigint AS number,
        r.recalled_at AS at
   FROM authcodes_recall r
  WHERE r.brand_id = ANY (%(recalls)s::bigint[]) AND r.recalled_at > %(now)s::timestamptz - interval '90 days'
    AND EXISTS (SELECT 1 FROM authcodes_batchrange b
                  JOIN authcodes_scan s ON s.batch_id = b.id AND s.user_id IS NOT NULL
                       AND (b.recalled_to = '' OR EXISTS (
                           SELECT 1 FROM authcodes_authcode c
                            WHERE c.id = s.auth_code_id AND c.code BETWEEN b.recalled_from AND b.recalled_to))
                 WHERE b.recall_id = r.id)
    AND (NOT EXISTS (SELECT 1 FROM jobs_job j WHERE j.brand_id = r.brand_id AND j.kind = 'notify-recall'
                        AND j.parameters ->> 'recall' = r.id::text)
         OR EXISTS (SELECT 1 FROM (SELECT n.id, n.closed_at FROM loyalty_notification n
                                    WHERE n.brand_id = r.brand_id AND n.key = 'recall:' || r.id AND n.key <> ''
                                    LIMIT 2000) n
                     WHERE n.closed_at IS NOT NULL
                       AND NOT EXISTS (SELECT 1 FROM loyalty_notificationdelivery d
                                        WHERE d.notification_id = n.id AND d.status IN ('sent', 'queued'))))
  ORDER BY r.recalled_at DESC LIMIT {most})
 UNION ALL
(SELECT 'event', e.brand_id, NULL, '', count(*), min(e.created_at)
   FROM events_event e WHERE e.status = 'dead' AND e.brand_id = ANY (%(events)s::bigint[])
  GROUP BY e.brand_id ORDER BY count(*) DESC LIMIT {most})
 UNION ALL
(SELECT 'webhook', w.brand_id, w.id, COALESCE(NULLIF(w.description, ''), w.url), (w.state <> 'active')::int, w.state_since
   FROM loyalty_webhookendpoint w
  WHERE w.brand_id = ANY (%(webhooks)s::bigint[])
    AND (w.state IN ('gone', 'failing')
         OR w.state = 'active' AND w.failing_since < %(now)s::timestamptz - interval '1 hour')
  ORDER BY w.state_since DESC LIMIT {most})
 UNION ALL
(SELECT 'certificate', i.brand_id, i.id, i.platform || ': ' || i.identifier, (i.expires_at < %(now)s::timestamptz)::int,
        i.expires_at
   FROM loyalty_walletissuer i
  WHERE i.brand_id = ANY (%(certificates)s::bigint[]) AND i.expires_at < %(now)s::timestamptz + interval '30 days'
  ORDER BY i.expires_at LIMIT {most})
 UNION ALL
(SELECT 'batch', b.brand_id, b.id, b.range_name, b.generated_count,
        (b.expiration_date + 1)::timestamp AT TIME ZONE brand.time_zone
   FROM authcodes_batchrange b JOIN brands_brand brand ON brand.id = b.brand_id
  WHERE b.brand_id = ANY (%(batches)s::bigint[]) AND b.generated_count > 0
    AND b.expiration_date BETWEEN (%(now)s::timestamptz AT TIME ZONE brand.time_zone)::date
                              AND (%(now)s::timestamptz AT TIME ZONE brand.time_zone)::date + 14
    AND b.recall_id IS NULL
  ORDER BY b.expiration_date, b.id LIMIT {most})
 UNION ALL
(SELECT 'stock', s.brand_id, s.id, s.name, s.stock, NULL
   FROM (SELECT r.brand_id, r.id, r.name,
                CASE WHEN r.uses_pool THEN (SELECT count(*) FROM (
                        SELECT 1 FROM loyalty_poolcode c WHERE c.reward_id = r.id AND c.redemption_id IS NULL
                           AND (c.expires_at IS NULL OR c.expires_at > %(now)s::timestamptz) LIMIT 11) few)
                     ELSE r.stock END AS stock
           FROM loyalty_reward r
          WHERE r.brand_id = ANY (%(rewards)s::bigint[]) AND r.is_active
            AND (r.valid_until IS NULL OR r.valid_until > %(now)s::timestamptz)) s
  WHERE s.stock <= 10 ORDER BY s.stock, s.id LIMIT {most})
 UNION ALL
(SELECT 'campaign', c.brand_id, c.campaign_id, c.campaign_name, 0, c.ends_at
   FROM campaigns_campaign c
  WHERE c.brand_id = ANY (%(campaigns)s::bigint[]) AND c.is_active
    AND c.ends_at BETWEEN %(now)s::timestamptz AND %(now)s::timestamptz + interval '3 days'
  ORDER BY c.ends_at LIMIT {most})
 UNION ALL
(SELECT 'report', f.brand_id, NULL, '', count(*), min(f.reported_at)
   FROM authcodes_fakereport f WHERE f.state = 'open' AND f.brand_id = ANY (%(reports)s::bigint[])
  GROUP BY f.brand_id ORDER BY count(*) DESC LIMIT {most})
 UNION ALL
(SELECT 'approval', a.brand_id, NULL, '', count(*), min(a.requested_at)
   FROM loyalty_pointsapproval a
  WHERE a.status = 'pending' AND a.brand_id = ANY (%(approvals)s::bigint[]) AND a.requested_by_id <> %(by)s::bigint
  GROUP BY a.brand_id ORDER BY count(*) DESC LIMIT {most})
