-- set: a portion of a brand's passes. Gives each of these passes a new version. Returns Changed. Locks the passes.
{next_version}
   AND id = ANY (%(passes)s::bigint[])
RETURNING loyalty_walletpass.id AS pk, m.user_id, version, queued_version IS NOT DISTINCT FROM version AS is_first
