-- hot: each accrual of scans. The same for up to 100 scans. `lookups` is a JSON array of one row for each: its number, code,
-- customer, moment and id. PostgreSQL, whose counts of rows are always a little old, is left no choice between looking each
-- up in the indexes and reading whole tables: that is what the LIMITs here and in code_snapshot.sql are for. Returns
-- CodeSnapshot with the number of the row as `item`, no row where there is no such code. Locks nothing.
WITH lookups AS (
    SELECT * FROM jsonb_to_recordset(%(lookups)s::jsonb)
           AS a (item int, code text, user_id bigint, at timestamptz, scan_id uuid)
     LIMIT 100
)
SELECT found.*, a.item
  FROM lookups a
 CROSS JOIN LATERAL (
    {code_snapshot}
     LIMIT 1) AS found
