-- set: each import of codes printed elsewhere, when it is checked and again when it is committed. Marks the rows whose
-- code or payload belongs, or could belong, to another brand. All such rows get the same error. Locks the rows that it
-- changes.
UPDATE authcodes_importrow r SET error = %(not_usable)s::text, error_column = 'auth_code'
 WHERE r.upload_id = %(upload)s::bigint AND r.error = ''
   AND printed_code_is_taken(%(brand)s::bigint, r.code, r.payload, r.payload_code, r.payload_host)
