-- check: every done event that names a ledger entry. Returns a Contradiction for each whose entry is missing.
SELECT 'event ' || e.event_id AS subject, 'line ' || (e.outcome->>'transaction_id') AS expected, 'none' AS actual
  FROM events_event e
 WHERE e.status = 'done' AND e.outcome->>'transaction_id' IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM loyalty_transaction t
                    WHERE t.loyalty_transaction_id = (e.outcome->>'transaction_id')::bigint)
