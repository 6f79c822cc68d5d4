-- hot: each accrual of a customer with a pass. Gives each pass of an account a new version. Returns Changed. Locks the
-- passes.
{next_version}
   AND account_id = %(account)s::bigint
RETURNING loyalty_walletpass.id AS pk, m.user_id, version, queued_version IS NOT DISTINCT FROM version AS is_first
