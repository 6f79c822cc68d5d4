-- set: each import of ranges, when it is checked and again when its commit is rejected. Counts the codes of each range,
-- and marks the rows with codes of another product. OFFSET 0 makes PostgreSQL look up each range separately in the
-- index, whatever its row estimate. Locks the rows that it changes.
UPDATE authcodes_importrow r
   SET codes = t.codes, error = CASE WHEN t.taken THEN %(taken)s::text ELSE '' END,
       error_column = CASE WHEN t.taken THEN 'auth_code_start' ELSE '' END
  FROM (SELECT r.id, c.codes, c.taken
          FROM authcodes_importrow r
          JOIN authcodes_authcode a ON a.code = r.code
         CROSS JOIN LATERAL (
               SELECT count(*) AS codes, coalesce(bool_or(c.product_id <> r.product_id), false) AS taken
                 FROM authcodes_authcode c
                WHERE c.code BETWEEN r.code AND r.code_end AND c.batch_id = a.batch_id OFFSET 0) c
         WHERE r.upload_id = %(upload)s::bigint AND r.error = '') t
 WHERE r.id = t.id
