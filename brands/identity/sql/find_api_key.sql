-- hot: each request with a key. Finds the usable key with this hash: not revoked, not expired at the moment `at`.
-- `is_use_unnoted`: its recorded use is more than a minute old. Locks nothing.
SELECT id AS key_id, kind, brand_id, prefix, scopes, networks,
       (last_used_at IS NULL OR last_used_at < %(at)s::timestamptz - interval '1 minute') AS is_use_unnoted
  FROM brands_apikey
 WHERE digest = %(digest)s::bytea
   AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(at)s::timestamptz)
