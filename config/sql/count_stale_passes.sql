-- set: each scrape of the metrics. Counts the passes in a wallet that are older than their member's balance, by
-- platform, at most `limit`: those whose platform has not been called yet, with the seconds that the first of them has
-- waited, and those that changed before `stale_before`. Returns StalePasses. Locks nothing.
SELECT platform, count(*) FILTER (WHERE pushed_version < version) AS unpushed,
       count(*) FILTER (WHERE changed_at < %(stale_before)s::timestamptz) AS behind,
       extract(epoch FROM statement_timestamp() - min(changed_at) FILTER (WHERE pushed_version < version)) AS seconds
  FROM (SELECT platform, version, pushed_version, changed_at FROM loyalty_walletpass
         WHERE current_version < version AND state = 'held' LIMIT %(limit)s::int) AS behind
 GROUP BY platform
