-- set: each import of a list. Marks the rows whose code is already on an earlier line of the file; the message names
-- that line. Locks the rows that it changes.
UPDATE authcodes_importrow r
   SET error = %(code_twice)s::text, error_values = jsonb_build_object('line', t.first), error_column = 'auth_code'
  FROM (SELECT id, line, min(line) OVER (PARTITION BY code) AS first FROM authcodes_importrow
         WHERE upload_id = %(upload)s::bigint AND error = '') t
 WHERE r.id = t.id AND t.line > t.first
