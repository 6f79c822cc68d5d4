-- check: the points of the closed days against the ledger. Returns a Contradiction for each difference. Locks nothing.
WITH both_sides AS (
    SELECT w.brand_id, (t."createdAt" AT TIME ZONE w.time_zone)::date AS day, {movement} AS movement,
           sum({amount}) AS expected, count(*) AS expected_entries,
           NULL::numeric AS found, NULL::bigint AS found_entries
      FROM loyalty_programmewatermark w JOIN user_points p ON p.brand_id = w.brand_id
      JOIN loyalty_transaction t USING (user_point_id)
     WHERE t."createdAt" < (w.until + 1)::timestamp AT TIME ZONE w.time_zone
     GROUP BY 1, 2, 3
    UNION ALL
    SELECT r.brand_id, r.day, r.movement, NULL, NULL, r.points, r.entries
      FROM loyalty_pointsrollup r JOIN loyalty_programmewatermark w USING (brand_id) WHERE r.day <= w.until
)
SELECT concat('brand ', brand_id, ', ', day, ', ', movement) AS subject,
       COALESCE(concat(max(expected), ' in ', max(expected_entries)), 'none') AS expected,
       COALESCE(concat(max(found), ' in ', max(found_entries)), 'none') AS actual
  FROM both_sides
 GROUP BY brand_id, day, movement
HAVING max(expected) IS DISTINCT FROM max(found) OR max(expected_entries) IS DISTINCT FROM max(found_entries)
