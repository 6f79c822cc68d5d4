-- set: each import. Marks numbers that a spreadsheet may have rounded: it keeps 15 digits and writes zeros for the
-- others, in every row of a column or in none. pad_codes.sql may have restored the zeros before them. The + 0 makes
-- PostgreSQL search the index of codes, also before it has counted the brand's new ones. `{code}`: the column of the
-- row. Locks the rows that it changes.
UPDATE authcodes_importrow r SET error = %(rounded)s::text, error_column = %(column)s::text
 WHERE r.upload_id = %(upload)s::bigint AND r.error = '' AND r.{code} ~ '^0*[1-9][0-9]{14}0+$'
   AND (r.repaired OR r.{code} ~ '^[1-9]')
   AND (SELECT count(*) FROM (
            SELECT 1 FROM authcodes_authcode c
             WHERE c.code BETWEEN r.{code}
                              AND rpad(substring(r.{code} from '^0*[1-9][0-9]{14}'), length(r.{code}), '9')
               AND c.brand_id + 0 = %(brand)s::bigint AND length(c.code) = length(r.{code}) LIMIT 2) fitting) > 1
   AND NOT EXISTS (SELECT 1 FROM authcodes_importrow z
                    WHERE z.upload_id = %(upload)s::bigint AND z.{code} ~ '^0*[1-9][0-9]{14}0*[1-9][0-9]*$')
