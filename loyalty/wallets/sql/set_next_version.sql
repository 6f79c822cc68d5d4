-- hot: each accrual of a customer with a pass. Part of the statements that change passes of the brand `brand`: raises
-- each pass's version by one. A queued update will include this version too: only the first of a burst queues one.
-- If-Modified-Since has whole seconds, so no two versions share one. A pass that is in no wallet is not pushed. Locks
-- the passes.
UPDATE loyalty_walletpass
   SET version = version + 1,
       changed_at = GREATEST(%(at)s::timestamptz, date_trunc('second', changed_at) + interval '1 second'),
       queued_version = CASE WHEN platform = 'apple' AND state <> 'held' THEN NULL
                             ELSE coalesce(queued_version, version + 1) END
  FROM user_points m
 WHERE m.user_point_id = loyalty_walletpass.account_id AND loyalty_walletpass.brand_id = %(brand)s::bigint
