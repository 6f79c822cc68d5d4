-- set: each chunk of the hourly deletion. Part of the statements that delete events: the next `limit` events after the
-- id `after`, by the primary key, and when each was over.
SELECT id, status, detail_type, created_at, coalesce(finished_at, created_at) AS over_at,
       outcome ->> 'transaction_id' AS ledger_entry
  FROM events_event WHERE id > %(after)s::bigint ORDER BY id LIMIT %(limit)s::int
