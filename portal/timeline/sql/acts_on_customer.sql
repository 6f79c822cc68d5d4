-- set: a part of fetch_timeline.sql: what staff did to a customer's accounts, according to the audit log. It does not
-- filter by brand, whose entries would be read one after the other: the accounts are the brand's.
SELECT 'staff' AS kind, entry.id::text AS id, entry.at, row_number() OVER (ORDER BY entry.id DESC) AS position
  FROM unnest(%(accounts)s::bigint[]) AS own(account_id)
 CROSS JOIN LATERAL (
       SELECT id, at
         FROM brands_auditlogentry
        WHERE kind = 'loyalty.userpoints' AND row_id BETWEEN own.account_id::text AND own.account_id::text
          AND id < coalesce((%(places)s::jsonb -> 'staff' ->> 1)::bigint, 9223372036854775807)
          AND at <= %(until)s::timestamptz
        ORDER BY row_id, id DESC LIMIT %(most)s::int) AS entry
 WHERE 'staff' = ANY (%(kinds)s::text[])
