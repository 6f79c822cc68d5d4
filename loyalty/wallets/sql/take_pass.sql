-- hot: each update of a pass. Reserves the brand's pass `id` for `busy` seconds and unmarks its queued update. Returns
-- the pass's id; no row if another worker has it, or the brand has no such pass. Locks the pass.
UPDATE loyalty_walletpass
   SET queued_version = NULL, busy_until = statement_timestamp() + make_interval(secs => %(busy)s::float)
 WHERE id = %(id)s::bigint AND brand_id = %(brand)s::bigint
   AND (busy_until IS NULL OR busy_until <= statement_timestamp())
RETURNING id
