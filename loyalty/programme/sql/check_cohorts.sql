-- check: each cohort's active members of each month against the stored active members. Returns a Contradiction for each
-- difference. Locks nothing.
WITH wanted AS (
    SELECT a.brand_id, date_trunc('month', p.enrolled_at AT TIME ZONE w.time_zone)::date AS cohort, a.month, count(*) AS active
      FROM loyalty_activemember a JOIN user_points p USING (user_point_id)
      JOIN loyalty_programmewatermark w ON w.brand_id = a.brand_id
     GROUP BY 1, 2, 3
)
SELECT concat('brand ', brand_id, ', ', cohort, ' in ', month) AS subject, COALESCE(w.active, 0)::text AS expected,
       COALESCE(c.active, 0)::text AS actual
  FROM wanted w FULL JOIN loyalty_cohortrollup c USING (brand_id, cohort, month)
 WHERE w.active IS DISTINCT FROM c.active
