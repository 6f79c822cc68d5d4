-- set: a batch's page, whose strip shows what its codes are. Of the `size` codes of a batch from the number `low` on it reads
-- `points`, as far from each other, each by its code's own index: a batch of ten million takes as long as one of ten
-- thousand. Batch and brand are compared outside: in a table that was not analysed since it grew, the planner would read
-- the whole batch for each code. Returns PartSample for each of `parts` parts of equally many codes that has any. Locks
-- nothing.
SELECT (i * %(parts)s::bigint / %(points)s::bigint)::int AS index, count(*)::int AS codes,
       count(c.product_id)::int AS assigned, (count(*) FILTER (WHERE c.scan_count > 0))::int AS scanned,
       count(c.deactivated_at)::int AS deactivated
  FROM generate_series(0::bigint, %(points)s::bigint - 1) AS i
 CROSS JOIN LATERAL (
       SELECT a.batch_id, a.brand_id, a.product_id, a.scan_count, a.deactivated_at
         FROM authcodes_authcode a
        WHERE a.code = %(prefix)s::text
                       || lpad((%(low)s::bigint + i * %(size)s::bigint / %(points)s::bigint)::text, %(width)s::int, '0')
       OFFSET 0) AS c
 WHERE c.batch_id = %(batch)s::bigint AND c.brand_id = %(brand)s::bigint
 GROUP BY 1
 ORDER BY 1
