-- set: each import. Restores leading zeros that a spreadsheet dropped, where exactly one code of the brand fits; marks
-- the row as ambiguous where several do. A column loses its zeros in every row or in none: if the file has codes with
-- leading zeros, a code that exists as written stays. The + 0 makes PostgreSQL look up each code, also before it has
-- counted the brand's new ones. `{code}`: the column of the row. Locks the rows that it changes.
WITH lengths AS (
    SELECT length(first_code) AS length FROM authcodes_batchrange
     WHERE brand_id = %(brand)s::bigint AND first_code ~ '^[0-9]+$' AND NOT printed_elsewhere
     UNION
    -- Codes printed elsewhere have many lengths in one batch, whose first code is the lowest.
    SELECT length(c.code) FROM authcodes_batchrange b JOIN authcodes_authcode c ON c.batch_id = b.id
     WHERE b.brand_id = %(brand)s::bigint AND b.printed_elsewhere AND b.first_code < '1'
       AND c.code >= '0' AND c.code < '1' AND c.code ~ '^[0-9]+$'),
fits AS (
    SELECT r.id, count(*) AS fitting, min(c.code) AS code, bool_or(c.code = r.{code}) AS as_written
      FROM authcodes_importrow r
     CROSS JOIN LATERAL (
           SELECT length(r.{code}) AS length UNION ALL SELECT length FROM lengths WHERE length > length(r.{code})) l
      JOIN authcodes_authcode c ON c.code = lpad(r.{code}, l.length, '0') AND c.brand_id + 0 = %(brand)s::bigint
     WHERE r.upload_id = %(upload)s::bigint AND r.error = '' AND r.{code} ~ '^(0|[1-9][0-9]*)$'
     GROUP BY r.id)
UPDATE authcodes_importrow r
   SET {code} = CASE WHEN f.fitting = 1 THEN f.code ELSE r.{code} END,
       repaired = r.repaired OR f.fitting = 1,
       error = CASE WHEN f.fitting = 1 THEN '' ELSE %(ambiguous)s::text END,
       error_column = CASE WHEN f.fitting = 1 THEN '' ELSE %(column)s::text END
  FROM fits f
 WHERE r.id = f.id AND (f.fitting > 1 OR NOT f.as_written)
   AND NOT (f.as_written AND EXISTS (
           SELECT 1 FROM authcodes_importrow z WHERE z.upload_id = %(upload)s::bigint AND z.{code} ~ '^0[0-9]'))
