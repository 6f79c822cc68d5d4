-- set: a part of fetch_timeline.sql: the friends whom a customer referred, and the member who referred the customer.
SELECT 'referrals' AS kind, found.id::text AS id, found.created_at AS at,
       row_number() OVER (ORDER BY found.id DESC) AS position
  FROM unnest(%(accounts)s::bigint[]) AS own(id)
 CROSS JOIN LATERAL (
       (SELECT id, created_at
          FROM loyalty_referral
         WHERE referrer_id BETWEEN own.id AND own.id
           AND id < coalesce((%(places)s::jsonb -> 'referrals' ->> 1)::bigint, 9223372036854775807)
           AND created_at <= %(until)s::timestamptz
         ORDER BY referrer_id, id DESC LIMIT %(most)s::int)
       UNION
       (SELECT id, created_at
          FROM loyalty_referral
         WHERE friend_id = own.id
           AND id < coalesce((%(places)s::jsonb -> 'referrals' ->> 1)::bigint, 9223372036854775807)
           AND created_at <= %(until)s::timestamptz)) AS found
 WHERE 'referrals' = ANY (%(kinds)s::text[])
