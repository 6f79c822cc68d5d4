-- set: Home. The points of the brands `brands` by movement: for each day from `first` on, for each month from
-- `first_month` on, and for each brand over all time. Closed days come from their rollup, the days from each brand's
-- `since` on from the ledger, whose BRIN index on the moment finds the entries after `moment`, the earliest of all
-- these days. Entries are summed by quarter of an hour before their time zone is applied: in every zone days begin on a
-- quarter. Returns DayPoints, with one of `day`, `month` and `brand_id` set. Locks nothing.
WITH brand AS MATERIALIZED (
    SELECT b.id, b.zone, b.since, b.since::timestamp AT TIME ZONE b.zone AS begins
      FROM unnest(%(brands)s::bigint[], %(zones)s::text[], %(since)s::date[]) AS b (id, zone, since)
), moved AS (
    SELECT r.brand_id, r.day, r.movement, sum(r.points) AS points
      FROM brand b JOIN loyalty_pointsrollup r ON r.brand_id = b.id
     WHERE r.day < b.since
     GROUP BY 1, 2, 3
     UNION ALL
    SELECT b.id, (q.quarter AT TIME ZONE b.zone)::date AS day, q.movement, sum(q.points)
      FROM brand b
     CROSS JOIN LATERAL (
           SELECT date_bin('15 minutes', t."createdAt", 'epoch') AS quarter, {movement} AS movement, sum({amount}) AS points
             FROM loyalty_transaction t
            WHERE t.brand_id = b.id AND t."createdAt" >= %(moment)s::timestamptz AND t."createdAt" >= b.begins
            GROUP BY 1, 2) q
     GROUP BY 1, 2, 3
), dated AS (
    SELECT brand_id, movement, points, CASE WHEN day >= %(first)s::date THEN day END AS day,
           CASE WHEN day >= %(first_month)s::date THEN date_trunc('month', day::timestamp)::date END AS month
      FROM moved
)
SELECT day, NULL::date AS month, NULL::bigint AS brand_id, movement, sum(points) AS points
  FROM dated WHERE day IS NOT NULL GROUP BY day, movement
 UNION ALL
SELECT NULL, month, NULL, movement, sum(points) FROM dated WHERE month IS NOT NULL GROUP BY month, movement
 UNION ALL
SELECT NULL, NULL, brand_id, movement, sum(points) FROM dated GROUP BY brand_id, movement
