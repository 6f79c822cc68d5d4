-- check: a rollup's counts against the scans. Returns a Contradiction for each row that differs and each that is
-- missing. `{table}`: which rollup; `{keys}`: the columns besides brand and day by which it is grouped. Locks nothing.
WITH closed AS (
{closed_scans}
), wanted AS (
    SELECT brand_id, day, {keys}, {counts} FROM closed s GROUP BY brand_id, day, {keys}
), rolled_up AS (
    SELECT brand_id, day, {keys}, accepted, first_scans, warnings, errors, recalled, points
      FROM {table} JOIN authcodes_rollupwatermark m USING (brand_id) WHERE day <= m.until
), both_sides AS (
    SELECT brand_id, day, {keys}, ARRAY[accepted, first_scans, warnings, errors, recalled, points] AS expected,
           NULL::numeric[] AS found
      FROM wanted
    UNION ALL
    SELECT brand_id, day, {keys}, NULL, ARRAY[accepted, first_scans, warnings, errors, recalled, points]
      FROM rolled_up
)
SELECT concat('brand ', brand_id, ', ', day, ', ', concat_ws('/', {keys})) AS subject,
       COALESCE(max(expected)::text, 'none') AS expected, COALESCE(max(found)::text, 'none') AS actual
  FROM both_sides
 GROUP BY brand_id, day, {keys}
HAVING count(*) <> 2 OR max(expected) IS DISTINCT FROM max(found)
