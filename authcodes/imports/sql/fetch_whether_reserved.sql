-- set: each import of codes printed elsewhere that is committed: run at the end, while no prefix can be stored. Returns
-- whether another brand has a prefix that could generate one of its codes. Locks nothing.
SELECT upload_is_reserved(%(brand)s::bigint, %(upload)s::bigint) AS is_reserved
