-- set: each import that is discarded or old. Deletes what its undo would need. Locks the rows.
DELETE FROM authcodes_importchange WHERE upload_id = %(upload)s::bigint
