-- check: the number of members enrolled and active in each month, against the accounts and the active members. Returns
-- a Contradiction for each difference. Locks nothing.
WITH wanted AS (
    SELECT w.brand_id, date_trunc('month', p.enrolled_at AT TIME ZONE w.time_zone)::date AS month,
           count(*) AS enrolled, 0 AS active
      FROM loyalty_programmewatermark w JOIN user_points p ON p.brand_id = w.brand_id
     WHERE p.enrolled_at < (w.counted_until + 1)::timestamp AT TIME ZONE w.time_zone
     GROUP BY 1, 2
    UNION ALL
    SELECT brand_id, month, 0, count(*) FROM loyalty_activemember GROUP BY 1, 2
), summed AS (
    SELECT brand_id, month, sum(enrolled) AS enrolled, sum(active) AS active FROM wanted GROUP BY 1, 2
)
SELECT concat('brand ', brand_id, ', ', month) AS subject, concat(s.enrolled, ' enrolled, ', s.active, ' active') AS expected,
       concat(r.enrolled, ' enrolled, ', r.active, ' active') AS actual
  FROM summed s FULL JOIN loyalty_membersrollup r USING (brand_id, month)
 WHERE (COALESCE(s.enrolled, 0), COALESCE(s.active, 0)) IS DISTINCT FROM (COALESCE(r.enrolled, 0), COALESCE(r.active, 0))
