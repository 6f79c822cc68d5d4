-- set: each call of the releases. The next `limit` due pending points of active members: the longest due one of each
-- brand first, then each brand's second, and so on. Returns DuePending. Locks nothing.
SELECT p.entry_id AS entry, p.user_point_id AS account
  FROM loyalty_pendingpoints p
  JOIN user_points a ON a.user_point_id = p.user_point_id AND a.status = 'active'
  JOIN brands_brand b ON b.id = a.brand_id AND b.loyalty_active
 WHERE p.remaining > 0 AND p.release_at <= %(at)s::timestamptz
 ORDER BY row_number() OVER (PARTITION BY a.brand_id ORDER BY p.release_at, p.entry_id), p.entry_id
 LIMIT %(limit)s::int
