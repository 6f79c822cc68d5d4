-- set: the dashboard. The frame of its statement on scans, whose sources depend on the filters: `{single}` is a SELECT
-- of what must be read scan by scan; `{rolled}`, `{rolled_places}` and `{known_unique_scanners}` are ` UNION ALL`
-- SELECTs from rollups, or empty. Each row has its type (`total`, `day`, `product` or `place`), a day, a product's id,
-- a name, and counts; only the first 5 products and the first `{max_places}` places are returned. Locks nothing.
WITH single AS MATERIALIZED ({single}),
summed AS MATERIALIZED (
    SELECT day, product_id, GROUPING(day) AS every_day, GROUPING(product_id) AS every_product,
           COALESCE(sum(accepted), 0) AS accepted, COALESCE(sum(first_scans), 0) AS first_scans,
           COALESCE(sum(warnings), 0) AS warnings, COALESCE(sum(errors), 0) AS errors,
           COALESCE(sum(recalled), 0) AS recalled, COALESCE(sum(points), 0) AS points
      FROM (SELECT day, product_id, accepted, first_scans, warnings, errors, recalled, points
              FROM single {rolled}) AS part
     GROUP BY GROUPING SETS ((), (day), (product_id))
), product AS (
    SELECT product_id, accepted FROM summed WHERE every_product = 0 AND product_id IS NOT NULL AND accepted > 0
     ORDER BY accepted DESC, product_id LIMIT 5
), place AS (
    SELECT location, sum(accepted) AS accepted
      FROM (SELECT location, accepted FROM single {rolled_places}) AS part
     WHERE location <> '' GROUP BY location HAVING sum(accepted) > 0
     ORDER BY sum(accepted) DESC, location COLLATE "C" LIMIT {max_places}
), scanner AS (
    SELECT count(DISTINCT user_id) AS scanners FROM (SELECT user_id FROM single {known_unique_scanners}) AS part
)
SELECT 'total', NULL::date, NULL::bigint, NULL::text, s.accepted, s.warnings, s.errors, s.recalled, s.points,
       scanner.scanners
  FROM summed s, scanner WHERE s.every_day = 1 AND s.every_product = 1
UNION ALL
SELECT 'day', day, NULL, NULL, accepted, warnings, errors, 0, 0, 0
  FROM summed WHERE every_day = 0 AND accepted + warnings + errors > 0
UNION ALL
SELECT 'product', NULL, p.id, p.title, product.accepted, 0, 0, 0, 0, 0
  FROM product JOIN authcodes_product p ON p.id = product.product_id
UNION ALL
SELECT 'place', NULL, NULL, location, accepted, 0, 0, 0, 0, 0 FROM place
