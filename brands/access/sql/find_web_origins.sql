-- hot: each call of the customer API from another website's page. Returns the web origins of the brands that a call
-- names: by the usable app key with this hash, by the brand id of a token or an answer (both `by_host` false), and by
-- the hostname called, with its port first. Locks nothing.
WITH named (brand_id, by_host, with_port) AS (
    SELECT brand_id, false, false
      FROM brands_apikey
     WHERE digest = %(digest)s::bytea AND kind = 'app'
       AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(at)s::timestamptz)
    UNION ALL
    SELECT %(brand_id)s::bigint, false, false
    UNION ALL
    SELECT brand_id, true, hostname = %(host_and_port)s::text
      FROM brands_brandhostname
     WHERE hostname IN (%(host_and_port)s::text, %(host)s::text)
)
SELECT b.id AS brand_id, b.web_origins, n.by_host
  FROM named n JOIN brands_brand b ON b.id = n.brand_id
 ORDER BY n.by_host, n.with_port DESC
