-- set: each chunk of the hourly deletion. From the next `limit` events after the id `after`, deletes those that were
-- over before the moment `before` and whose row is no longer needed: events of the `kinds`, which earn nothing
-- themselves, and events without a handler. Dead events stay, for staff. Returns Purged. Locks the events that it
-- deletes.
WITH chunk AS MATERIALIZED (
    {next_events}
), gone AS (
    DELETE FROM events_event
     WHERE id = ANY (ARRAY(
               SELECT id FROM chunk
                WHERE over_at < %(before)s::timestamptz
                  AND (status = 'ignored' OR status IN ('done', 'refused') AND detail_type = ANY (%(kinds)s::text[]))))
    RETURNING id
)
SELECT max(id) AS last_id, coalesce(bool_and(created_at < %(before)s::timestamptz), false) AS is_old,
       (SELECT count(*) FROM gone) AS deleted
  FROM chunk
