-- set: each import that is checked, rejected, discarded or old. Deletes its rows, up to a million. Locks them.
DELETE FROM authcodes_importrow WHERE upload_id = %(upload)s::bigint
