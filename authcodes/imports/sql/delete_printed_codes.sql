-- set: each import of codes printed elsewhere that is undone. Deletes the codes of its batch that nobody has scanned.
-- Locks these codes.
DELETE FROM authcodes_authcode WHERE batch_id = %(batch)s::bigint AND scan_count = 0
