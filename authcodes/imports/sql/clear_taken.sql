-- set: each import whose commit is rejected. Removes the error "codes have another product" from the rows, before
-- mark_taken_codes.sql or mark_taken_ranges.sql sets it again. Locks the rows that it changes.
UPDATE authcodes_importrow SET error = '', error_column = ''
 WHERE upload_id = %(upload)s::bigint AND error = %(taken)s::text
