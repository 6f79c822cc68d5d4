-- check: the active members of each month against the ledger. Returns a Contradiction for each difference. Locks
-- nothing.
WITH wanted AS (
    SELECT DISTINCT w.brand_id, t.user_point_id, date_trunc('month', t."createdAt" AT TIME ZONE w.time_zone)::date AS month
      FROM loyalty_programmewatermark w JOIN user_points p ON p.brand_id = w.brand_id
      JOIN loyalty_transaction t USING (user_point_id)
     WHERE t."createdAt" < (w.until + 1)::timestamp AT TIME ZONE w.time_zone AND {activity}
)
SELECT concat('brand ', brand_id, ', ', month, ', account ', user_point_id) AS subject,
       (w.brand_id IS NOT NULL)::text AS expected, (a.id IS NOT NULL)::text AS actual
  FROM wanted w FULL JOIN loyalty_activemember a USING (brand_id, user_point_id, month)
 WHERE w.brand_id IS NULL OR a.id IS NULL
