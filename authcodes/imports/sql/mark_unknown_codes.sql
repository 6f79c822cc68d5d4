-- set: each import. Marks the rows whose code the brand does not have. The + 0 makes PostgreSQL look up each code, also
-- before it has counted the brand's new ones. `{code}`: the column of the row. Locks the rows that it changes.
UPDATE authcodes_importrow r
   SET error = CASE WHEN r.{code} ~* '^[0-9][.,0-9]*e[+]?[0-9]+$' THEN %(shortened)s::text ELSE %(no_code)s::text END,
       error_column = %(column)s::text
 WHERE r.upload_id = %(upload)s::bigint AND r.error = ''
   AND NOT EXISTS (SELECT 1 FROM authcodes_authcode c WHERE c.code = r.{code} AND c.brand_id + 0 = %(brand)s::bigint)
