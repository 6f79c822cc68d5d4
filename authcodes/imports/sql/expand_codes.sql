-- set: each import. Replaces a number such as 1.23E+11, which many numbers round to, by the brand's code if only one
-- fits. Replaces nothing where the brand has a prefix such as 12E, because its codes may themselves look like such
-- numbers. The + 0 makes PostgreSQL look up each code, also before it has counted the brand's new ones. `{code}`: the
-- column of the row. Locks the rows that it changes.
WITH numbers AS (
    SELECT r.id, replace(r.{code}, ',', '.')::numeric AS number,
           0.5 * ('1e' || (substring(r.{code} from '[0-9]+$')::int
                           - length(coalesce(substring(r.{code} from '[.,]([0-9]+)'), ''))))::numeric AS half
      FROM authcodes_importrow r
     WHERE r.upload_id = %(upload)s::bigint AND r.error = '' AND r.{code} ~* '^[0-9]([.,][0-9]{1,14})?e[+]?[0-9]{1,2}$'
       AND NOT EXISTS (SELECT 1 FROM authcodes_authcode c
                        WHERE c.code = r.{code} AND c.brand_id + 0 = %(brand)s::bigint)),
bounds AS (SELECT id, ceil(number - half) AS low, ceil(number + half) - 1 AS high FROM numbers),
batches AS (
    SELECT first_code::numeric AS first, last_code::numeric AS last, length(first_code) AS length
      FROM authcodes_batchrange WHERE brand_id = %(brand)s::bigint AND first_code ~ '^[0-9]+$' AND NOT printed_elsewhere),
fits AS (
    SELECT o.id, sum(least(o.high, b.last) - greatest(o.low, b.first) + 1) AS fitting,
           min(lpad(greatest(o.low, b.first)::text, b.length, '0')) AS code
      FROM bounds o JOIN batches b ON b.first <= o.high AND b.last >= o.low
     GROUP BY o.id)
UPDATE authcodes_importrow r SET {code} = f.code, repaired = true
  FROM fits f
 WHERE r.id = f.id AND f.fitting = 1 AND NOT EXISTS (
       SELECT 1 FROM authcodes_batchrange WHERE brand_id = %(brand)s::bigint AND prefix ~* '^[0-9]+e$')
