-- set: each day that is rolled up, and the days read live. Part of roll_up_days.sql and fetch_points.sql: the entries
-- of a brand's whole local days from `first` to `last`, summed by day and movement. The BRIN index on the moment finds
-- them.
SELECT (t."createdAt" AT TIME ZONE %(zone)s::text)::date AS day, {movement} AS movement,
       sum({amount}) AS points, count(*) AS entries
  FROM loyalty_transaction t
 WHERE t.brand_id = %(brand)s::bigint
   AND t."createdAt" >= %(first)s::date::timestamp AT TIME ZONE %(zone)s::text
   AND t."createdAt" < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s::text
 GROUP BY 1, 2
