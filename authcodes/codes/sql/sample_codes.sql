-- set: the strip on a batch's page, which shows the state of its codes. Reads the codes at `positions` evenly spaced
-- positions among the `size` codes from the number `low` on, each by its own index look-up: a batch of ten million
-- codes takes as long as one of ten thousand. Batch and brand are compared outside the look-up: in a table that has
-- grown since it was analysed, the planner would otherwise read the whole batch for each code. Returns a PartSample for
-- each of the `parts` equal parts that has any codes. Locks nothing.
SELECT (i * %(parts)s::bigint / %(positions)s::bigint)::int AS index, count(*)::int AS codes,
       count(c.product_id)::int AS assigned, (count(*) FILTER (WHERE c.scan_count > 0))::int AS scanned,
       count(c.deactivated_at)::int AS deactivated
  FROM generate_series(0::bigint, %(positions)s::bigint - 1) AS i
 CROSS JOIN LATERAL (
       SELECT a.batch_id, a.brand_id, a.product_id, a.scan_count, a.deactivated_at
         FROM authcodes_authcode a
        WHERE a.code = %(prefix)s::text
                       || lpad((%(low)s::bigint + i * %(size)s::bigint / %(positions)s::bigint)::text,
                               %(width)s::int, '0')
       OFFSET 0) AS c
 WHERE c.batch_id = %(batch)s::bigint AND c.brand_id = %(brand)s::bigint
 GROUP BY 1
 ORDER BY 1
