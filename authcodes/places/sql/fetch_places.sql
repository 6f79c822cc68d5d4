-- set: filters and suggestions of places. Returns the distinct values of an indexed column, at most `most` per brand,
-- with one index step for each (PostgreSQL has no skip scan). Compares with `>` only: under row-level security LIKE
-- would not use the index. `{table}` and `{place}`: where the names are. Locks nothing.
SELECT found.name FROM unnest(%(brands)s::bigint[]) AS brand (id), LATERAL (
    WITH RECURSIVE step AS (
        (SELECT r.{place} AS name FROM {table} r
          WHERE r.brand_id = brand.id AND r.{place} > '' ORDER BY r.{place} LIMIT 1)
        UNION ALL
        SELECT next.name
          FROM step, LATERAL (SELECT r.{place} AS name FROM {table} r
                               WHERE r.brand_id = brand.id AND r.{place} > '' AND r.{place} > step.name
                               ORDER BY r.{place} LIMIT 1) next
    )
    SELECT name FROM step LIMIT %(most)s::int
) found
