-- set: a part of fetch_timeline.sql: a customer's wallet passes, which are few.
SELECT 'cards' AS kind, found.id::text AS id, found.created_at AS at,
       row_number() OVER (ORDER BY found.id DESC) AS position
  FROM unnest(%(accounts)s::bigint[]) AS own(id)
 CROSS JOIN LATERAL (
       SELECT id, created_at
         FROM loyalty_walletpass
        WHERE account_id BETWEEN own.id AND own.id
          AND id < coalesce((%(places)s::jsonb -> 'cards' ->> 1)::bigint, 9223372036854775807)
          AND created_at <= %(until)s::timestamptz
        ORDER BY account_id, id DESC LIMIT %(most)s::int) AS found
 WHERE 'cards' = ANY (%(kinds)s::text[])
