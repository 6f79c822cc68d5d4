-- set: each import of a list, when it is checked and again when its commit is rejected. Marks the rows whose code has
-- another product. The coalesce keeps PostgreSQL from reading all assigned codes for each row, which seems cheap to it
-- until it has counted codes that were assigned just now. Locks the rows that it changes.
UPDATE authcodes_importrow r SET error = %(taken)s::text, error_column = 'auth_code'
  FROM authcodes_authcode c
 WHERE r.upload_id = %(upload)s::bigint AND r.error = '' AND c.code = r.code
   AND coalesce(c.product_id, %(product)s::bigint) <> %(product)s::bigint
