-- check: every account merge against the ledger, and every merge entry against the merges. Returns a Contradiction for
-- each merge whose entries do not carry its totals over and, if it was undone, back; for each merged account that still
-- has points, or that its target does not know; and for each entry without a merge.
SELECT 'merge ' || g.id AS subject, format('%%s entries carry %%s', CASE WHEN g.undone_at IS NULL THEN 2 ELSE 4 END, g.carried) AS expected,
       format('%%s do', t.entries) AS actual
  FROM loyalty_accountmerge g
 CROSS JOIN LATERAL (
       SELECT count(*) AS entries FROM loyalty_transaction t
        WHERE t.user_point_id IN (g.target_id, g.source_id) AND t.reason = 'merged'
          AND t.reason_id IN ('merge-in:' || g.id, 'merge-out:' || g.id, 'merge-in:' || g.id || ':undo',
                              'merge-out:' || g.id || ':undo')
          AND (t.points_earned, t.points_redeemed, t.points_expired, t.points_reversed, t.points_pending)
              = (SELECT sign * (g.carried ->> 'earned')::numeric, sign * (g.carried ->> 'redeemed')::numeric,
                        sign * (g.carried ->> 'expired')::numeric, sign * (g.carried ->> 'reversed')::numeric,
                        sign * (g.carried ->> 'pending')::numeric
                   FROM (SELECT CASE WHEN starts_with(t.reason_id, 'merge-in:') THEN 1 ELSE -1 END AS sign) AS s)) t
 WHERE t.entries <> CASE WHEN g.undone_at IS NULL THEN 2 ELSE 4 END
 UNION ALL
SELECT 'account ' || e.user_point_id, 'empty, and merged into account ' || g.target_id,
       format('%%s points, into %%s, known as %%s', e.points, e.merged_into_id, k.merged_from)
  FROM loyalty_accountmerge g
  JOIN user_points e ON e.user_point_id = g.source_id
  JOIN user_points k ON k.user_point_id = g.target_id
 WHERE g.undone_at IS NULL
   AND (e.points_earned + e.points_redeemed + e.points_expired + e.points_reversed + e.points_pending + e.points_owed <> 0
        OR e.merged_into_id IS DISTINCT FROM g.target_id OR e.status <> 'merged'
        OR NOT coalesce(e.user_point_id = ANY (k.merged_from), false))
 UNION ALL
SELECT 'ledger entry ' || t.loyalty_transaction_id, 'a merge', t.reason_id
  FROM loyalty_transaction t
 WHERE t.reason = 'merged'
   AND NOT EXISTS (SELECT FROM loyalty_accountmerge g
                    WHERE g.id::text = split_part(t.reason_id, ':', 2) AND t.user_point_id IN (g.target_id, g.source_id))
