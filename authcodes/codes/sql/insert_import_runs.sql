-- set: each import that is committed or undone. Inserts one history line per run of codes in its good rows: a run is
-- consecutive codes with the same product. A batch with more than `most` runs gets one line from its first code to its
-- last, with their number. Locks nothing.
WITH named AS (
    SELECT a.batch_id, r.code AS first, greatest(r.code, r.code_end) AS last, r.codes,
           coalesce(r.product_id, %(product)s::bigint) AS product_id,
           CASE WHEN NOT b.printed_elsewhere THEN right(r.code, b.number_width)::bigint END AS low
      FROM authcodes_importrow r
      JOIN authcodes_authcode a ON a.code = r.code
      JOIN authcodes_batchrange b ON b.id = a.batch_id
     WHERE r.upload_id = %(upload)s::bigint AND r.error = ''),
neighbours AS (
    SELECT *, lag(low + codes) OVER its AS after, lag(product_id) OVER its AS product_before
      FROM named WINDOW its AS (PARTITION BY batch_id ORDER BY first)),
numbered AS (
    SELECT *, count(*) FILTER (WHERE (after, product_before) IS DISTINCT FROM (low, product_id))
                OVER (PARTITION BY batch_id ORDER BY first) AS run
      FROM neighbours),
runs AS (SELECT *, max(run) OVER (PARTITION BY batch_id) AS runs FROM numbered)
INSERT INTO authcodes_codechange
       (brand_id, batch_id, action_id, kind, first_code, last_code, codes, product_id, upload_id, detail, reason,
        changed_by_id, changed_at)
SELECT %(brand)s::bigint, batch_id, %(action)s::uuid, %(kind)s::text, min(first), max(last), sum(codes),
       CASE WHEN min(product_id) = max(product_id) THEN min(product_id) END, %(upload)s::bigint, '', '', %(by)s::bigint,
       %(at)s::timestamptz
  FROM runs
 GROUP BY batch_id, CASE WHEN runs <= %(most)s::int THEN run END
 ORDER BY batch_id, min(first)
