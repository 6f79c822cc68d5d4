-- hot: each transfer of points. The received points that an account still has. The first points earned are the first
-- spent, and transfers take the sender's own points: these are deducted from what it earned first. Each entry has what
-- remains as far as the balance covers it. Returns the sum. Locks nothing.
WITH member AS (
    SELECT a.points, a.user_point_id || a.merged_from AS accounts FROM user_points a
     WHERE a.user_point_id = %(account)s::bigint
), sent AS (
    SELECT coalesce(sum(t.points_redeemed), 0) AS points FROM loyalty_transaction t
     WHERE t.user_point_id = ANY (ARRAY(SELECT unnest(m.accounts) FROM member m)) AND starts_with(t.reason_id, 'transfer:')
), lots AS (
    SELECT t."createdAt" AS at, t.loyalty_transaction_id AS id, t.points_earned AS points,
           starts_with(t.reason_id, 'transfer:') AS is_received,
           coalesce(sum(t.points_earned) FILTER (WHERE NOT starts_with(t.reason_id, 'transfer:')) OVER (
               ORDER BY t."createdAt", t.loyalty_transaction_id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS own_before
      FROM loyalty_transaction t
     WHERE t.user_point_id = ANY (ARRAY(SELECT unnest(m.accounts) FROM member m)) AND t.points_earned > 0
       AND t.reason_id NOT LIKE 'redeem-undo:%%' AND t.reason <> 'merged'
), remaining AS (
    SELECT l.at, l.id, l.is_received,
           CASE WHEN l.is_received THEN l.points
                ELSE l.points - greatest(0, least(l.points, sent.points - l.own_before)) END AS points
      FROM lots l, sent
), reached AS (
    SELECT r.is_received, r.points,
           coalesce(sum(r.points) OVER (
               ORDER BY r.at DESC, r.id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS later
      FROM remaining r
)
SELECT coalesce(sum(least(r.points, a.points - r.later)), 0) AS received
  FROM reached r, member a
 WHERE r.is_received AND a.points > r.later
