-- set: each chunk of the deletion of events about points. From the next `limit` events after the id `after`, deletes
-- those that were over before the moment `before` and whose row is no longer needed. An event of the `kinds` that
-- earned points has a ledger entry, whose unique reason prevents a second payment; a rejected one, of `rejected_kinds`,
-- paid nothing. A done event without an entry stays: its row is the only record that it was handled. Returns Purged.
-- Locks the events that it deletes.
WITH chunk AS MATERIALIZED (
    {next_events}
), gone AS (
    DELETE FROM events_event
     WHERE id = ANY (ARRAY(
               SELECT id FROM chunk
                WHERE over_at < %(before)s::timestamptz
                  AND (status = 'done' AND ledger_entry IS NOT NULL AND detail_type = ANY (%(kinds)s::text[])
                       OR status = 'refused' AND detail_type = ANY (%(rejected_kinds)s::text[]))))
    RETURNING id
)
SELECT max(id) AS last_id, coalesce(bool_and(created_at < %(before)s::timestamptz), false) AS is_old,
       (SELECT count(*) FROM gone) AS deleted
  FROM chunk
