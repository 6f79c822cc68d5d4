-- set: each import that is checked, and again when its commit is rejected. Stores the counts of its rows on the import
-- and sets its status to checked, if the status is still `status`. Locks the import.
UPDATE authcodes_import i
   SET rows = c.rows, bad_rows = c.bad, repaired_rows = c.repaired, codes = c.codes, status = 'checked'
  FROM (SELECT count(*) AS rows, count(*) FILTER (WHERE error <> '') AS bad,
               count(*) FILTER (WHERE error = '' AND repaired) AS repaired,
               least(coalesce(sum(codes) FILTER (WHERE error = ''), 0), 2147483647) AS codes
          FROM authcodes_importrow WHERE upload_id = %(upload)s::bigint) c
 WHERE i.id = %(upload)s::bigint AND i.status = %(status)s::text
