-- set: a part of fetch_timeline.sql: the ledger entries of a customer's accounts.
SELECT 'points' AS kind, found.loyalty_transaction_id::text AS id, found."createdAt" AS at,
       row_number() OVER (ORDER BY found.loyalty_transaction_id DESC) AS position
  FROM unnest(%(accounts)s::bigint[]) AS own(id)
 CROSS JOIN LATERAL (
       SELECT loyalty_transaction_id, "createdAt"
         FROM loyalty_transaction
        WHERE user_point_id BETWEEN own.id AND own.id
          AND loyalty_transaction_id < coalesce((%(places)s::jsonb -> 'points' ->> 1)::bigint, 9223372036854775807)
          AND "createdAt" <= %(until)s::timestamptz
        ORDER BY user_point_id, loyalty_transaction_id DESC LIMIT %(most)s::int) AS found
 WHERE 'points' = ANY (%(kinds)s::text[])
