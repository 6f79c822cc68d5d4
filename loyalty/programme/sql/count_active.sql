-- set: each month with a day that is rolled up, and the months whose activity window contains it. Writes the active and
-- the lapsed members of the months `months`. Lapsed at a month's end are members who enrolled before the window, the
-- `window` months that end with it, and were active in none of them. Locks the rows that it changes.
WITH m AS (
    SELECT month, (month - make_interval(months => %(window)s::int - 1))::date AS since
      FROM unnest(%(months)s::date[]) AS month
), counted AS (
    SELECT m.month,
           (SELECT count(*) FROM loyalty_activemember a
             WHERE a.brand_id = %(brand)s::bigint AND a.month = m.month) AS active,
           (SELECT count(*) FROM user_points p
             WHERE p.brand_id = %(brand)s::bigint
               AND p.enrolled_at < m.since::timestamp AT TIME ZONE %(zone)s::text)
           - (SELECT count(DISTINCT a.user_point_id)
                FROM loyalty_activemember a JOIN user_points p USING (user_point_id)
               WHERE a.brand_id = %(brand)s::bigint AND a.month BETWEEN m.since AND m.month
                 AND p.enrolled_at < m.since::timestamp AT TIME ZONE %(zone)s::text) AS lapsed
      FROM m
)
INSERT INTO loyalty_membersrollup AS r (brand_id, month, enrolled, active, lapsed)
SELECT %(brand)s::bigint, month, 0, active, lapsed FROM counted
    ON CONFLICT (brand_id, month) DO UPDATE SET active = excluded.active, lapsed = excluded.lapsed
