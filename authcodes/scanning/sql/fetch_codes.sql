-- hot: each accrual of scans. As fetch_code.sql, for up to 100 scans. `lookups` is a JSON array of one row per scan:
-- its number, code, customer, moment and id. PostgreSQL's row counts are always slightly outdated; the LIMITs here and
-- in code_snapshot.sql keep it from reading whole tables instead of looking each row up in the indexes. Returns
-- CodeSnapshot with the number of the row as `item`, no row if the code does not exist. Locks nothing.
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
