-- hot: every two seconds in each process, for the passes that it still works on: `ids` and their `brands`, in the same
-- order. Reserves them for another `busy` seconds. Leaves a pass alone if its time is over: another worker may have it.
-- Locks the passes.
UPDATE loyalty_walletpass p
   SET busy_until = greatest(busy_until, statement_timestamp() + make_interval(secs => %(busy)s::float))
  FROM unnest(%(ids)s::bigint[], %(brands)s::bigint[]) AS held (id, brand)
 WHERE p.id = held.id AND p.brand_id = held.brand AND p.busy_until > statement_timestamp()
