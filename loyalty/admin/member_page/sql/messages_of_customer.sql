-- set: a part of fetch_timeline.sql: the notifications that a customer was sent.
SELECT 'messages' AS kind, found.id::text AS id, found.created_at AS at,
       row_number() OVER (ORDER BY found.id DESC) AS position
  FROM unnest(%(users)s::bigint[]) AS own(id)
 CROSS JOIN LATERAL (
       SELECT id, created_at
         FROM loyalty_notificationdelivery
        WHERE user_id BETWEEN own.id AND own.id
          AND brand_id = %(brand)s::bigint
          AND id < coalesce((%(places)s::jsonb -> 'messages' ->> 1)::bigint, 9223372036854775807)
          AND created_at <= %(until)s::timestamptz
        ORDER BY user_id, id DESC LIMIT %(most)s::int) AS found
 WHERE 'messages' = ANY (%(kinds)s::text[])
