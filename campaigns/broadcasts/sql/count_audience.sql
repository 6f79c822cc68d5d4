-- set: the page of a broadcast while it is written. Counts the active members to whom the broadcast goes, how many each
-- channel can reach (the address is not suppressed, and the member has not opted out of offers on the channel), and how
-- many any of the chosen `channels` can. `segment_id` NULL: all members. Returns Audience. Locks nothing.
WITH chosen AS MATERIALIZED (
    SELECT m.user_id
      FROM user_points m
     WHERE m.brand_id = %(brand_id)s::bigint AND m.status = 'active'
       AND (%(segment_id)s::bigint IS NULL
            OR m.user_point_id IN (SELECT s.account_id FROM loyalty_segmentmember s
                                    WHERE s.segment_id = %(segment_id)s::bigint))
), stopped AS MATERIALIZED (
    SELECT x.digest FROM loyalty_suppressedaddress x WHERE x.brand_id = %(brand_id)s::bigint
), devices AS MATERIALIZED (
    SELECT DISTINCT d.user_id
      FROM loyalty_device d
     WHERE d.brand_id = %(brand_id)s::bigint AND d.died_at IS NULL
), ways AS (
    SELECT u.is_active AND NOT coalesce('offers/email' = ANY (p.opted_out), false)
           AND encode(sha256(convert_to('email:' || lower(btrim(u.email)), 'UTF8')), 'hex')
               NOT IN (SELECT digest FROM stopped) AS email,
           u.is_active AND coalesce(p.phone, '') <> '' AND NOT coalesce('offers/sms' = ANY (p.opted_out), false)
           AND encode(sha256(convert_to('sms:' || lower(btrim(coalesce(p.phone, ''))), 'UTF8')), 'hex')
               NOT IN (SELECT digest FROM stopped) AS sms,
           u.is_active AND d.user_id IS NOT NULL AND NOT coalesce('offers/push' = ANY (p.opted_out), false) AS push
      FROM chosen c JOIN brands_user u ON u.id = c.user_id
      LEFT JOIN loyalty_notificationpreference p ON p.brand_id = %(brand_id)s::bigint AND p.user_id = c.user_id
      LEFT JOIN devices d ON d.user_id = c.user_id
)
SELECT count(*) AS members,
       count(*) FILTER (WHERE email) AS email,
       count(*) FILTER (WHERE sms) AS sms,
       count(*) FILTER (WHERE push) AS push,
       count(*) FILTER (WHERE email AND 'email' = ANY (%(channels)s::text[]) OR sms AND 'sms' = ANY (%(channels)s::text[])
                           OR push AND 'push' = ANY (%(channels)s::text[])) AS reachable
  FROM ways
