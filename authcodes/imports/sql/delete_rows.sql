-- set: each import that is checked, rejected, discarded or old. Deletes its rows, up to a million. Locks these rows.
DELETE FROM authcodes_importrow WHERE upload_id = %(upload)s::bigint
