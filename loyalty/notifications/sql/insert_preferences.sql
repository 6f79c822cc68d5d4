-- set: each import of members. Inserts the notification preferences of customers who have none at the brand, from
-- parallel arrays. Locks no existing rows.
INSERT INTO loyalty_notificationpreference (user_id, brand_id, language, phone, opted_out, updated_at)
SELECT p.user_id, %(brand_id)s::bigint, p.language, p.phone,
       CASE WHEN p.wants_notifications THEN '{}' ELSE %(opted_out)s::varchar[] END, %(at)s::timestamptz
  FROM unnest(%(user_ids)s::bigint[], %(languages)s::text[], %(phones)s::text[], %(wants_notifications)s::boolean[])
       AS p (user_id, language, phone, wants_notifications)
 ORDER BY p.user_id
    ON CONFLICT (brand_id, user_id) DO NOTHING
