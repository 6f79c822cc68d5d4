-- hot: each use of what a quota limits. For each of `resources` one brand's limit (0: none): the brand's own, or the
-- value at the same index of `defaults`. If there is a limit, it also takes the brand's turn: uses are decided one at a
-- time, because two at once could both pass. Returns Limit. Locks the brand's turn until the end of the transaction.
WITH limits AS MATERIALIZED (
    SELECT r.resource, coalesce(own.limit, r.otherwise) AS most
      FROM unnest(%(resources)s::text[], %(defaults)s::bigint[]) r (resource, otherwise)
      LEFT JOIN brands_brandquota own ON own.brand_id = %(brand_id)s::bigint AND own.resource = r.resource
)
SELECT resource, most, CASE WHEN most > 0 THEN pg_advisory_xact_lock(7216007, %(brand_id)s::int)::text END AS turn
  FROM limits
