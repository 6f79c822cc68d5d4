-- hot: each milestone that gives a thing at once. Part of statements that handle many events: finishes the events that
-- `locked` names and has locked.
UPDATE events_event e SET status = 'done', outcome = NULL, finished_at = statement_timestamp(), last_error = ''
  FROM locked WHERE e.id = locked.event_id
