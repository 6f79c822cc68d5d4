-- set: each import of ranges. Marks the rows whose range overlaps one that starts earlier; the message names the line
-- of that range. Locks the rows that it changes.
UPDATE authcodes_importrow r
   SET error = %(range_overlaps)s::text, error_values = jsonb_build_object('line', t.before[2]::int),
       error_column = 'auth_code_start'
  FROM (SELECT r.id, r.code, max(ARRAY[r.code_end, r.line::text COLLATE "C"]) OVER (
                   PARTITION BY a.batch_id ORDER BY r.code, r.line
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
          FROM authcodes_importrow r JOIN authcodes_authcode a ON a.code = r.code
         WHERE r.upload_id = %(upload)s::bigint AND r.error = '') t
 WHERE r.id = t.id AND t.before[1] >= t.code
