-- hot: each milestone that gives a thing at once. Part of statements that do what many events ask for: finishes the events
-- that `locked` names, which it has locked.
UPDATE events_event e SET status = 'done', outcome = NULL, finished_at = statement_timestamp(), last_error = ''
  FROM locked WHERE e.id = locked.event_id
