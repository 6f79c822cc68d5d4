-- set: each import that is undone. Returns whether any code of its good rows has been scanned. `{targets}`: the codes.
-- Locks nothing.
SELECT EXISTS (
    SELECT 1 FROM ({targets}) t JOIN authcodes_authcode c USING (id) WHERE c.scan_count > 0) AS is_scanned
