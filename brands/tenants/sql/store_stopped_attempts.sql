-- set: the task that stores the counts of stopped attempts, repeatedly during an hour. `brands`, `kinds`, `hours` and
-- `numbers` are parallel arrays, one element per count. A lower count, from a Redis that was emptied in the meantime,
-- changes nothing. Changes the rows that are new or have grown, and locks them.
INSERT INTO brands_stoppedattempts AS stored (brand_id, kind, hour, number)
SELECT b.id, counted.kind, counted.hour, counted.number
  FROM unnest(%(brands)s::bigint[], %(kinds)s::text[], %(hours)s::timestamptz[], %(numbers)s::bigint[])
       counted (brand_id, kind, hour, number)
  JOIN brands_brand b ON b.id = counted.brand_id
ON CONFLICT (brand_id, hour, kind) DO UPDATE SET number = excluded.number WHERE stored.number < excluded.number
