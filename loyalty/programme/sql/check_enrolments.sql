-- check: the number of enrolments of each day against the accounts. Returns a Contradiction for each difference. Locks
-- nothing.
WITH wanted AS (
    SELECT w.brand_id, (p.enrolled_at AT TIME ZONE w.time_zone)::date AS day, count(*) AS enrolled
      FROM loyalty_programmewatermark w JOIN user_points p ON p.brand_id = w.brand_id
     WHERE p.enrolled_at < (w.counted_until + 1)::timestamp AT TIME ZONE w.time_zone
     GROUP BY 1, 2
), rolled_up AS (
    SELECT r.brand_id, r.day, r.enrolled
      FROM loyalty_enrolmentrollup r JOIN loyalty_programmewatermark w USING (brand_id) WHERE r.day <= w.counted_until
)
SELECT concat('brand ', brand_id, ', ', day) AS subject, COALESCE(w.enrolled::text, 'none') AS expected,
       COALESCE(r.enrolled::text, 'none') AS actual
  FROM wanted w FULL JOIN rolled_up r USING (brand_id, day)
 WHERE w.enrolled IS DISTINCT FROM r.enrolled
