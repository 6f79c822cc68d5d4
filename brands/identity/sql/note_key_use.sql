-- hot: a request with a key, once a minute, by the first that comes. The others skip the locked row instead of queueing
-- for it. Locks the key's row.
UPDATE brands_apikey SET last_used_at = %(at)s::timestamptz
 WHERE id = (
       SELECT id FROM brands_apikey
        WHERE id = %(key_id)s::bigint
          AND (last_used_at IS NULL OR last_used_at < %(at)s::timestamptz - interval '1 minute')
          FOR UPDATE SKIP LOCKED)
