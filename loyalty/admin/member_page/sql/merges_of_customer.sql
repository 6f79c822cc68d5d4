-- set: a part of fetch_timeline.sql: merges of a customer's accounts, which are few.
SELECT 'merges' AS kind, id::text AS id, created_at AS at,
       row_number() OVER (ORDER BY id DESC) AS position
  FROM loyalty_accountmerge
 WHERE 'merges' = ANY (%(kinds)s::text[])
   AND (target_id = ANY (%(accounts)s::bigint[]) OR source_id = ANY (%(accounts)s::bigint[]))
   AND id < coalesce((%(places)s::jsonb -> 'merges' ->> 1)::bigint, 9223372036854775807)
   AND created_at <= %(until)s::timestamptz
