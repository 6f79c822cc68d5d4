-- set: each page of a replay. The members' state at a moment, summed from the earlier ledger: lifetime points, how
-- often they did what rules count, when anything last earned, and what counted towards the programme's limits since the
-- start of the day and of the month; and the segments that they are in today. Returns MemberRow, no row for users who
-- are not members. Locks nothing.
SELECT m.user_id, m.user_point_id AS account,
       coalesce(sum(t.points_earned) FILTER (
           WHERE t.reason IN ('earned', 'released') AND t.reason_id !~ '{not_earned}'), 0)
       - coalesce((SELECT sum(r.points_reversed) FROM loyalty_orderreturn r
                    WHERE r.brand_id = m.brand_id AND r.user_id = m.user_id AND r.status = 'applied'
                      AND r.applied_at < %(since)s::timestamptz), 0)
       - coalesce((SELECT sum(CASE f.referrer_id WHEN m.user_point_id THEN f.referrer_points ELSE f.friend_points END)
                     FROM loyalty_referral f
                    WHERE (f.referrer_id = m.user_point_id OR f.friend_id = m.user_point_id) AND f.state = 'reversed'
                      AND f.decided_at < %(since)s::timestamptz), 0)
       + coalesce(sum((t.details ->> 'lifetime')::numeric) FILTER (WHERE t.reason = 'merged'), 0) AS lifetime,
       count(*) FILTER (WHERE t.reason IN ('earned', 'pending') AND t.reason_id LIKE 'order:%%')
       + coalesce(sum((t.details ->> 'orders')::bigint) FILTER (WHERE t.reason = 'merged'), 0)::bigint AS orders,
       count(*) FILTER (WHERE t.reason IN ('earned', 'pending') AND strpos(t.reason_id, ':') = 0)
       + coalesce(sum((t.details ->> 'scans')::bigint) FILTER (WHERE t.reason = 'merged'), 0)::bigint AS scans,
       greatest(max(t."createdAt") FILTER (
           WHERE t.reason IN ('earned', 'pending') AND t.reason_id !~ '{no_actions}'),
           max((t.details ->> 'last_at')::timestamptz) FILTER (WHERE t.reason = 'merged')) AS last_at,
       coalesce(sum(t.points_earned + t.points_pending) FILTER (
           WHERE t."createdAt" >= %(day)s::timestamptz AND t.reason IN ('earned', 'pending')
             AND t.reason_id !~ '{no_actions}'), 0) AS day_points,
       coalesce(sum(t.points_earned + t.points_pending) FILTER (
           WHERE t."createdAt" >= %(month)s::timestamptz AND t.reason IN ('earned', 'pending')
             AND t.reason_id !~ '{no_actions}'), 0) AS month_points,
       ARRAY(SELECT x.segment_id FROM loyalty_segmentmember x WHERE x.account_id = m.user_point_id) AS segments
  FROM user_points m
  LEFT JOIN loyalty_transaction t ON t.user_point_id = m.user_point_id AND t."createdAt" < %(since)s::timestamptz
 WHERE m.brand_id = %(brand_id)s::bigint AND m.user_id = ANY (%(user_ids)s::bigint[])
 GROUP BY m.user_point_id
