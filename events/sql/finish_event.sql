-- hot: each delivery. Stores an event's final answer and the events that follow from it, if the attempt still holds the
-- lease: otherwise no row. The condition is not status = 'pending': PostgreSQL would read the short index of all due
-- events instead of looking up the id, and a backlog would slow itself down. Locks the event.
WITH finished AS (
    UPDATE events_event e
       SET status = %(event_status)s::text, outcome = %(event_outcome)s::jsonb,
           finished_at = statement_timestamp(), last_error = ''
     WHERE e.finished_at IS NULL AND e.id = %(event_id)s::bigint AND e.attempts = %(event_attempts)s::int
    RETURNING e.id
), inserted_events AS (
    {insert_events}
)
SELECT id FROM finished
