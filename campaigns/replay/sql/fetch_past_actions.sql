-- set: each replay of a brand's rules. Everything that gave members points between two moments, or could have if a rule
-- had applied: the stored events with their ledger entries, and other changes of lifetime points: adjustments by staff,
-- opening balances, releases, returns and merges. Read through a cursor: there may be millions. The moment of an action
-- is its entry's, so that the state before the period is exactly the rest of the ledger. Actions are in the order in
-- which their events were finished, in which one member's entries were written too. Moments are microseconds, and JSON
-- is text, because both are fastest to read. `own_kinds` are the brand's own, whose reason is made from the event's
-- `identity`. Where the draft has a rule for joining (`joins`), customers who joined without welcome points are actions
-- without an entry. Returns PastAction. Locks nothing.
WITH actions AS (
    SELECT e.user_id, coalesce(t."createdAt", e.finished_at) AS at, e.id, e.kind, e.happened_at, e.payload, e.is_rejected,
           t.loyalty_transaction_id AS number, t.reason_id, t.points_earned + t.points_pending AS points,
           coalesce(t.reason = 'pending', false) AS is_pending, (t.details ->> 'rules')::int AS rules,
           (t.details -> 'shares')::text AS shares,
           -- Each field of a profile has an entry; the outcome names the last one.
           CASE WHEN e.kind = 'log-user-profile-update' AND t.loyalty_transaction_id IS NOT NULL THEN (
               SELECT jsonb_agg(jsonb_build_array(x.reason_id, (x.points_earned + x.points_pending)::text,
                                                  x.details -> 'shares') ORDER BY x.loyalty_transaction_id)::text
                 FROM loyalty_transaction x
                WHERE x.user_point_id = t.user_point_id AND x."createdAt" = t."createdAt"
                  AND x.reason_id LIKE 'profile:%%')
           END AS more,
           e.level, e.level_updated, e.identity, e.finished_at AS ordered_at
      FROM (
           -- OFFSET 0 separates the values from the join: under row-level security a condition on JSON values uses no index.
           SELECT e.id, (e.detail -> 'arguments' ->> 'user_id')::bigint AS user_id, e.detail_type AS kind,
                  e.time AS happened_at, (e.detail -> 'payload')::text AS payload, e.status = 'refused' AS is_rejected,
                  (e.outcome ->> 'transaction_id')::bigint AS number, e.outcome ->> 'current_level' AS level,
                  (e.outcome ->> 'level_updated')::boolean AS level_updated, e.finished_at,
                  CASE WHEN e.detail_type = ANY (%(own_kinds)s::text[]) THEN e.source || ':' || e.event_id END AS identity
             FROM events_event e
            WHERE e.brand_id = %(brand_id)s::bigint AND e.detail_type = ANY (%(kinds)s::text[])
              AND e.finished_at >= %(since)s::timestamptz
              AND (e.status = 'done' AND e.outcome ? 'transaction_id'
                   OR e.status = 'refused' AND e.outcome ->> 'error' = 'NOT_ELIGIBLE')
           OFFSET 0) e
      LEFT JOIN loyalty_transaction t ON t.loyalty_transaction_id = e.number
), moves AS (
    SELECT m.user_id, t."createdAt" AS at, t.loyalty_transaction_id AS id,
           CASE WHEN t.reason IN ('released', 'merged') THEN t.reason ELSE 'adjusted' END AS kind, t."createdAt" AS happened_at,
           CASE t.reason WHEN 'merged' THEN t.details::text END AS payload, false AS is_rejected,
           CASE t.reason WHEN 'released' THEN substr(t.reason_id, 9)::bigint END AS number, NULL::text AS reason_id,
           CASE t.reason WHEN 'merged' THEN (t.details ->> 'lifetime')::numeric ELSE t.points_earned END AS points,
           false AS is_pending, NULL::int AS rules, NULL::text AS shares,
           NULL::text AS more, NULL::text AS level, NULL::boolean AS level_updated, NULL::text AS identity, t."createdAt" AS ordered_at
      FROM loyalty_transaction t
      JOIN user_points m ON m.user_point_id = t.user_point_id AND m.brand_id = %(brand_id)s::bigint
     WHERE t.brand_id = %(brand_id)s::bigint
       AND t."createdAt" >= %(since)s::timestamptz AND t."createdAt" < %(until)s::timestamptz
       AND (t.reason IN ('released', 'merged')
            OR t.reason = 'earned' AND (t.reason_id LIKE 'adjust:%%' OR t.reason_id LIKE 'opening:%%'
                                        OR t.reason_id LIKE 'referral:%%'))
     UNION ALL
    SELECT r.user_id, r.applied_at, r.id, 'returned', r.applied_at, NULL, false, NULL, NULL, r.points_reversed, false,
           NULL, NULL, NULL, NULL, NULL, NULL, r.applied_at
      FROM loyalty_orderreturn r
     WHERE r.brand_id = %(brand_id)s::bigint AND r.status = 'applied' AND r.points_reversed > 0
       AND r.applied_at >= %(since)s::timestamptz AND r.applied_at < %(until)s::timestamptz
     UNION ALL
    SELECT m.user_id, f.decided_at, f.id, 'returned', f.decided_at, NULL, false, NULL, NULL, side.points, false,
           NULL, NULL, NULL, NULL, NULL, NULL, f.decided_at
      FROM loyalty_referral f
     CROSS JOIN LATERAL (VALUES (f.referrer_id, f.referrer_points), (f.friend_id, f.friend_points)) AS side (account, points)
      JOIN user_points m ON m.user_point_id = side.account
     WHERE f.brand_id = %(brand_id)s::bigint AND f.state = 'reversed' AND side.points > 0
       AND f.decided_at >= %(since)s::timestamptz AND f.decided_at < %(until)s::timestamptz
     UNION ALL
    SELECT m.user_id, m.enrolled_at, m.user_point_id, 'member-welcome', m.enrolled_at,
           jsonb_build_object('enrolled_at', m.enrolled_at)::text, true, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL,
           NULL, m.enrolled_at
      FROM user_points m
     WHERE %(joins)s::boolean AND m.brand_id = %(brand_id)s::bigint
       AND m.enrolled_at >= %(since)s::timestamptz AND m.enrolled_at < %(until)s::timestamptz
       AND NOT EXISTS (SELECT FROM loyalty_transaction t
                        WHERE t.user_point_id = m.user_point_id
                          AND (t.reason_id = 'welcome:member' OR t.reason_id LIKE 'opening:%%'))
       AND NOT EXISTS (SELECT FROM loyalty_openingbalance o WHERE o.brand_id = m.brand_id AND o.user_id = m.user_id)
)
SELECT user_id, (extract(epoch FROM at) * 1000000)::bigint AS at, id, kind,
       (extract(epoch FROM happened_at) * 1000000)::bigint AS happened_at, payload, is_rejected, number, reason_id, points,
       is_pending, rules, shares, more, level, level_updated, identity
  FROM (SELECT * FROM actions
         WHERE user_id IS NOT NULL AND at >= %(since)s::timestamptz AND at < %(until)s::timestamptz
         UNION ALL
        SELECT user_id, at, id, kind, happened_at, payload, is_rejected, number, reason_id, points, is_pending, rules,
               shares, more, level, level_updated, identity, ordered_at
          FROM moves) AS everything
 ORDER BY {order}
