-- set: each rebuild of a brand's rollups. Returns the local day of the brand's first scan, null where there is none:
-- one index look-up. Locks nothing.
SELECT (min(scanned_at) AT TIME ZONE %(zone)s::text)::date AS first_day
  FROM authcodes_scan
 WHERE brand_id = %(brand)s::bigint
