-- hot: each use of what a quota limits. For each of `resources` the limit of one brand (0: none): the brand's own, or that
-- at the same place of `defaults`. Where there is one, the brand's turn is taken too: one use at a time is decided, for two
-- at once would pass each other. Returns Limit. Locks the brand's turn until the end of the transaction.
WITH limits AS MATERIALIZED (
    SELECT r.resource, coalesce(own.limit, r.otherwise) AS most
      FROM unnest(%(resources)s::text[], %(defaults)s::bigint[]) r (resource, otherwise)
      LEFT JOIN brands_brandquota own ON own.brand_id = %(brand_id)s::bigint AND own.resource = r.resource
)
SELECT resource, most, CASE WHEN most > 0 THEN pg_advisory_xact_lock(7216007, %(brand_id)s::int)::text END AS turn
  FROM limits
