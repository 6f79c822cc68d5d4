-- set: a recall notifies many customers at once. Inserts a notification of one thing, `key`, for each of the customers
-- `user_ids`. Leaves out those already notified of it. Returns Opened for each new one.
INSERT INTO loyalty_notification (brand_id, user_id, template, key, payload, covers, is_test, opened_at)
SELECT %(brand_id)s::bigint, u.user_id, %(template)s::text, %(key)s::text, %(payload)s::jsonb, %(covers)s::jsonb,
       %(is_test)s::bool, %(at)s::timestamptz
  FROM unnest(%(user_ids)s::bigint[]) AS u (user_id)
ON CONFLICT (brand_id, user_id, template, key) WHERE NOT key = '' DO NOTHING
RETURNING id AS notification_id, user_id
