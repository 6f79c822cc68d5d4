-- set: each portion of a broadcast that is being sent. Reads the next notifications along the table's key, of any
-- broadcast, so that each portion costs the same however large the broadcast is. Returns NextNotification for each;
-- `is_open` for those of `key` that are neither sent nor stopped. Locks nothing.
WITH next AS MATERIALIZED (
    SELECT n.id, n.user_id, n.brand_id, n.key, n.closed_at
      FROM loyalty_notification n
     WHERE n.id > %(after)s::bigint AND n.id <= %(until)s::bigint
     ORDER BY n.id LIMIT %(limit)s::int
)
SELECT id AS notification_id, user_id,
       brand_id = %(brand_id)s::bigint AND key = %(key)s::text AND closed_at IS NULL AS is_open
  FROM next ORDER BY id
