-- set: Home. The frame of its statement on the scans of the previous period. The filters decide its sources:
-- `{sources}` are SELECTs from rollups and scans. Returns each day that has scans, with its counts. Locks nothing.
SELECT day, COALESCE(sum(accepted), 0), COALESCE(sum(warnings), 0), COALESCE(sum(errors), 0)
  FROM ({sources}) AS part
 GROUP BY day
HAVING sum(accepted) + sum(warnings) + sum(errors) > 0
 ORDER BY day
