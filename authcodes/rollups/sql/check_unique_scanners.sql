-- check: the unique scanners of all closed days against their scans. Returns a Contradiction for each difference. Locks
-- nothing.
WITH closed AS (
{closed_scans}
), wanted AS (
    SELECT brand_id, user_id, bool_or(must) AS must, bool_or(may) AS may
      FROM closed WHERE user_id IS NOT NULL GROUP BY 1, 2
)
SELECT concat('brand ', brand_id, ', user ', user_id) AS subject, COALESCE(w.must::text, 'none') AS expected,
       COALESCE(k.scanned::text, 'none') AS actual
  FROM wanted w FULL JOIN authcodes_uniquescanner k USING (brand_id, user_id)
 WHERE w.may IS NULL OR k.scanned IS NULL OR w.must AND NOT k.scanned OR k.scanned AND NOT w.may
