-- check: each batch's number of codes against the number counted when they were generated. Returns a Contradiction for
-- each difference. Locks nothing.
SELECT 'batch ' || b.id AS subject, count(c.id)::text AS expected, b.generated_count::text AS actual
  FROM authcodes_batchrange b LEFT JOIN authcodes_authcode c ON c.batch_id = b.id
 GROUP BY b.id HAVING count(c.id) <> b.generated_count
