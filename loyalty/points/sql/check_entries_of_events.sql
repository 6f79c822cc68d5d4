-- check: every event that is done and names an entry of the ledger. Returns Contradiction for each whose entry is missing.
SELECT 'event ' || e.event_id AS subject, 'line ' || (e.outcome->>'transaction_id') AS expected, 'none' AS actual
  FROM events_event e
 WHERE e.status = 'done' AND e.outcome->>'transaction_id' IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM loyalty_transaction t
                    WHERE t.loyalty_transaction_id = (e.outcome->>'transaction_id')::bigint)
