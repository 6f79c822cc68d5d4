-- set: each import of codes printed elsewhere that is committed, in its last moments, when nobody stores a prefix. Returns
-- whether another brand has a prefix that could write one of its codes. Locks nothing.
SELECT upload_is_reserved(%(brand)s::bigint, %(upload)s::bigint) AS is_reserved
