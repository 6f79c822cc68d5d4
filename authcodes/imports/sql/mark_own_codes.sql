-- set: each import of codes printed elsewhere, when it is checked and again when it is committed. Marks the rows whose
-- code or payload the brand already has or is about to generate, and those whose payload contains one of its codes.
-- The + 0 makes PostgreSQL look up each code, also before it has counted the brand's new ones. Locks the rows that it
-- changes.
UPDATE authcodes_importrow r SET error = %(own_code)s::text, error_column = 'auth_code'
 WHERE r.upload_id = %(upload)s::bigint AND r.error = ''
   AND (EXISTS (SELECT 1 FROM authcodes_authcode c
                 WHERE c.code IN (r.code, r.payload_code) AND c.brand_id + 0 = %(brand)s::bigint)
        OR EXISTS (SELECT 1 FROM authcodes_authcode c
                    WHERE c.payload IN (r.code, r.payload) AND c.brand_id + 0 = %(brand)s::bigint)
        OR EXISTS (SELECT 1 FROM authcodes_batchrange b, unnest(ARRAY[r.code, r.payload_code]) AS it (code)
                    WHERE b.brand_id = %(brand)s::bigint AND b.generated_count < b.quantity
                      AND it.code BETWEEN b.first_code AND b.last_code AND length(it.code) = length(b.first_code)))
