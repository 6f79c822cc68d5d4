-- hot: each accrual of a customer with a pass. A new version of each pass of an account. Returns Changed. Locks the passes.
{next_version}
   AND account_id = %(account)s::bigint
RETURNING loyalty_walletpass.id AS pk, m.user_id, version, queued_version IS NOT DISTINCT FROM version AS is_first
