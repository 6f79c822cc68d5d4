-- set: each chunk of the releases. The next `limit` pending points that are due after the entry `after`, of members who may
-- earn, by entry. Returns DuePending. Locks nothing.
SELECT p.entry_id AS entry, p.user_point_id AS account
  FROM loyalty_pendingpoints p
  JOIN user_points a ON a.user_point_id = p.user_point_id AND a.status = 'active'
  JOIN brands_brand b ON b.id = a.brand_id AND b.loyalty_active
 WHERE p.remaining > 0 AND p.release_at <= %(at)s::timestamptz AND p.entry_id > %(after)s::bigint
 ORDER BY p.entry_id LIMIT %(limit)s::int
