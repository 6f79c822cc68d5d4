-- set: each run. Marks the closed days that contain an entry with an id above `settled`: it was, or may have been,
-- committed after they were rolled up. Covers all brands at once, because entries are found by their ids alone. Locks
-- no existing rows.
INSERT INTO loyalty_staleday (brand_id, day)
SELECT DISTINCT p.brand_id, (t."createdAt" AT TIME ZONE w.time_zone)::date
  FROM loyalty_transaction t JOIN user_points p USING (user_point_id)
  JOIN loyalty_programmewatermark w ON w.brand_id = p.brand_id
 WHERE t.loyalty_transaction_id > %(settled)s::bigint
   AND t."createdAt" < (w.until + 1)::timestamp AT TIME ZONE w.time_zone
    ON CONFLICT (brand_id, day) DO NOTHING
