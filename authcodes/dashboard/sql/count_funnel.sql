-- set: Home. The funnel from codes to customers of the brands `brands`, whatever the filters; returns Funnel. Codes
-- count as printed once a print file of their batch contains them, or when another company printed them. Codes in
-- several print runs count once; print files of listed codes do not count. Customers are as of the last closed day.
-- Locks nothing.
WITH batch AS MATERIALIZED (
    SELECT b.id, b.generated_count, b.printed_elsewhere, length(b.prefix) + 1 AS begins
      FROM authcodes_batchrange b WHERE b.brand_id = ANY (%(brands)s::bigint[])
), run AS (
    SELECT r.batch_id, substr(r.first_code, b.begins)::numeric AS first, substr(r.last_code, b.begins)::numeric AS last
      FROM authcodes_printrun r JOIN batch b ON b.id = r.batch_id JOIN jobs_job j ON j.id = r.job_id
     WHERE r.brand_id = ANY (%(brands)s::bigint[]) AND j.status = 'done' AND NOT b.printed_elsewhere
       AND substr(r.first_code, b.begins) ~ '^[0-9]+$' AND substr(r.last_code, b.begins) ~ '^[0-9]+$'
), ordered AS (  -- each code counts in the first run that reaches it, by their first codes
    SELECT first, last,
           max(last) OVER (PARTITION BY batch_id ORDER BY first, last
                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS highest_before
      FROM run
)
SELECT (SELECT COALESCE(sum(generated_count), 0)::bigint FROM batch) AS made,
       (SELECT COALESCE(sum(greatest(last - greatest(first, highest_before + 1) + 1, 0)), 0)::bigint FROM ordered)
       + (SELECT COALESCE(sum(generated_count) FILTER (WHERE printed_elsewhere), 0)::bigint FROM batch) AS printed,
       (SELECT COALESCE(sum(unique_scanners), 0)::bigint FROM authcodes_rollupwatermark
         WHERE brand_id = ANY (%(brands)s::bigint[])) AS unique_scanners,
       (SELECT COALESCE(sum(returned), 0)::bigint FROM authcodes_rollupwatermark
         WHERE brand_id = ANY (%(brands)s::bigint[])) AS returned,
       (SELECT COALESCE(sum(rewarded), 0)::bigint FROM loyalty_programmewatermark
         WHERE brand_id = ANY (%(brands)s::bigint[])) AS rewarded
