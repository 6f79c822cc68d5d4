-- hot: each update of a pass. Takes the pass `id` of the brand for `busy` seconds and unmarks its queued update. Returns the
-- pass's id; nothing where another worker has it, or the brand has no such pass. Locks the pass.
UPDATE loyalty_walletpass
   SET queued_version = NULL, busy_until = statement_timestamp() + make_interval(secs => %(busy)s::float)
 WHERE id = %(id)s::bigint AND brand_id = %(brand)s::bigint
   AND (busy_until IS NULL OR busy_until <= statement_timestamp())
RETURNING id
