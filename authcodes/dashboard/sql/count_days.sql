-- set: Home. The frame of its statement on the scans of the period before, whose sources depend on the filters: `{sources}`
-- are SELECTs of rollups and scans. Returns each day with scans and its counts. Locks nothing.
SELECT day, COALESCE(sum(accepted), 0), COALESCE(sum(warnings), 0), COALESCE(sum(errors), 0)
  FROM ({sources}) AS part
 GROUP BY day
HAVING sum(accepted) + sum(warnings) + sum(errors) > 0
 ORDER BY day
