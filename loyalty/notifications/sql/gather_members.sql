-- set: each portion of a broadcast that begins. Inserts a notification, not sent yet, for the next `limit` active
-- members whose account comes after `after`: those of the segment, or all if `segment_id` is NULL. Leaves out members
-- who joined the brand or the segment after `at`, and those who already have one. Returns GatheredMembers. Locks no
-- existing rows.
WITH portion AS MATERIALIZED (
    SELECT m.user_point_id, m.user_id
      FROM user_points m
     WHERE m.brand_id = %(brand_id)s::bigint AND m.user_point_id > %(after)s::bigint
       AND %(segment_id)s::bigint IS NULL AND m.status = 'active' AND m.enrolled_at <= %(at)s::timestamptz
     ORDER BY m.user_point_id LIMIT %(limit)s::int
), in_segment AS MATERIALIZED (
    SELECT s.account_id
      FROM loyalty_segmentmember s
     WHERE s.segment_id = %(segment_id)s::bigint AND s.account_id > %(after)s::bigint AND s.since <= %(at)s::timestamptz
     ORDER BY s.account_id LIMIT %(limit)s::int
), chosen AS MATERIALIZED (
    SELECT user_id FROM portion
    UNION ALL
    SELECT m.user_id
      FROM in_segment s JOIN user_points m ON m.user_point_id = s.account_id
     WHERE m.brand_id = %(brand_id)s::bigint AND m.status = 'active'
), inserted AS (
    INSERT INTO loyalty_notification (brand_id, user_id, template, key, payload, covers, is_test, opened_at)
    SELECT %(brand_id)s::bigint, c.user_id, %(template)s::text, %(key)s::text, %(payload)s::jsonb, '[]'::jsonb, false,
           %(at)s::timestamptz
      FROM chosen c
    ON CONFLICT (brand_id, user_id, template, key) WHERE NOT key = '' DO NOTHING
    RETURNING id
)
SELECT greatest((SELECT max(user_point_id) FROM portion), (SELECT max(account_id) FROM in_segment)) AS last_account,
       (SELECT count(*) FROM inserted) AS members, (SELECT min(id) FROM inserted) AS first_notification,
       (SELECT max(id) FROM inserted) AS last_notification
