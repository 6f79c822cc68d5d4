-- set: each evaluation of a segment except the first. The brand's members whose result may have changed between `since`
-- and `at`: those whose account or preferences changed, and, for each source that the segment uses, those with a row
-- that became older than one of its numbers of days in that time. 0 days finds new rows. At most `limit` members;
-- returns TouchedMember. Locks nothing.
SELECT m.user_point_id AS account_id, m.user_id
  FROM user_points m
 WHERE m.brand_id = %(brand_id)s::bigint AND m."updatedAt" > %(since)s::timestamptz
 UNION
SELECT m.user_point_id, m.user_id
  FROM loyalty_notificationpreference n
  JOIN user_points m ON m.brand_id = n.brand_id AND m.user_id = n.user_id
 WHERE n.brand_id = %(brand_id)s::bigint AND n.updated_at > %(since)s::timestamptz
 UNION
SELECT m.user_point_id, m.user_id
  FROM unnest(%(scans)s::int[]) AS d (days)
  JOIN authcodes_scan s ON s.brand_id = %(brand_id)s::bigint
   AND s.scanned_at > %(since)s::timestamptz - make_interval(hours => 24 * d.days)
   AND s.scanned_at <= %(at)s::timestamptz - make_interval(hours => 24 * d.days)
  JOIN user_points m ON m.brand_id = s.brand_id AND m.user_id = s.user_id
 UNION
SELECT m.user_point_id, m.user_id
  FROM unnest(%(orders)s::int[]) AS d (days)
  JOIN loyalty_creditedorder o ON o.brand_id = %(brand_id)s::bigint
   AND o.credited_at > %(since)s::timestamptz - make_interval(hours => 24 * d.days)
   AND o.credited_at <= %(at)s::timestamptz - make_interval(hours => 24 * d.days)
  JOIN user_points m ON m.brand_id = o.brand_id AND m.user_id = o.user_id
 UNION
SELECT m.user_point_id, m.user_id
  FROM unnest(%(entries)s::int[]) AS d (days)
  JOIN loyalty_transaction t ON t.brand_id = %(brand_id)s::bigint
   AND t."createdAt" > %(since)s::timestamptz - make_interval(hours => 24 * d.days)
   AND t."createdAt" <= %(at)s::timestamptz - make_interval(hours => 24 * d.days)
  JOIN user_points m ON m.user_point_id = t.user_point_id
 UNION
SELECT m.user_point_id, m.user_id
  FROM unnest(%(enrolled)s::int[]) AS d (days)
  JOIN user_points m ON m.brand_id = %(brand_id)s::bigint
   AND m.enrolled_at > %(since)s::timestamptz - make_interval(hours => 24 * d.days)
   AND m.enrolled_at <= %(at)s::timestamptz - make_interval(hours => 24 * d.days)
 LIMIT %(limit)s::int
