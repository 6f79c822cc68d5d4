-- set: each time staff unassign codes. Returns how many of the codes still have a product. `{which}`: the codes. Locks
-- nothing.
SELECT count(*) AS assigned FROM authcodes_authcode WHERE {which} AND product_id IS NOT NULL
