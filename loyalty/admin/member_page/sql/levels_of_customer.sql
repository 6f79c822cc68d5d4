-- set: a part of fetch_timeline.sql: how the level of a customer's accounts changed.
SELECT 'levels' AS kind, found.id::text AS id, found.created_at AS at,
       row_number() OVER (ORDER BY found.id DESC) AS position
  FROM unnest(%(accounts)s::bigint[]) AS own(id)
 CROSS JOIN LATERAL (
       SELECT id, created_at
         FROM loyalty_levelchange
        WHERE user_point_id BETWEEN own.id AND own.id
          AND id < coalesce((%(places)s::jsonb -> 'levels' ->> 1)::bigint, 9223372036854775807)
          AND created_at <= %(until)s::timestamptz
        ORDER BY user_point_id, id DESC LIMIT %(most)s::int) AS found
 WHERE 'levels' = ANY (%(kinds)s::text[])
