-- set: each import of codes printed elsewhere. Marks the rows whose payload is already on an earlier line of the file,
-- or contains the code of another line; the message names that line. Locks the rows that it changes.
UPDATE authcodes_importrow r
   SET error = %(payload_twice)s::text, error_values = jsonb_build_object('line', t.first), error_column = 'payload'
  FROM (SELECT p.id, least(min(p.line) OVER (PARTITION BY p.payload), o.line) AS first, p.line, o.line AS other
          FROM authcodes_importrow p
          LEFT JOIN authcodes_importrow o
            ON o.upload_id = p.upload_id AND o.error = '' AND o.id <> p.id
           AND o.code = coalesce(nullif(p.payload_code, ''), p.payload)
         WHERE p.upload_id = %(upload)s::bigint AND p.error = '') t
 WHERE r.id = t.id AND (t.line > t.first OR t.other IS NOT NULL)
