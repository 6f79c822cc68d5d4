-- set: each run, before it looks for late entries. The ids seen by the previous run are settled once every transaction
-- that was running then has ended; then this run's ids become the seen ones. A stored transaction id above this
-- server's is another server's, from which the data was restored. Returns the settled id. Locks the rows of all
-- watermarks.
WITH now AS (
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
           pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next,
           coalesce((SELECT max(loyalty_transaction_id) FROM loyalty_transaction), 0) AS seen
), mark AS (
    SELECT max(w.settled) AS settled, max(w.seen) AS seen, max(w.seen_xid) AS seen_xid FROM loyalty_programmewatermark w
), moved AS (
    UPDATE loyalty_programmewatermark w
       SET settled = mark.seen, seen = now.seen, seen_xid = now.next
      FROM mark, now
     WHERE mark.seen_xid <= now.oldest OR mark.seen_xid > now.next
)
SELECT settled FROM mark
