-- set: the erasure of a customer. Part of the statements that erase the user `user_id` from a brand's events: assigns
-- each event to the pseudonym `to`, and rejects those that wait. Keeps `type`, the type of the action, and `campaigns`,
-- what it advanced, which progress is checked against; everything else may identify the user or the place. Leaves out
-- the erasure's own events. Locks the events.
UPDATE events_event e
   SET detail = jsonb_build_object(
           'arguments', jsonb_build_object('brand_id', e.brand_id, 'user_id', %(to)s::bigint),
           'payload', jsonb_strip_nulls(jsonb_build_object('type', e.detail -> 'payload' -> 'type'))),
       status = CASE WHEN e.status = 'pending' THEN 'refused' ELSE e.status END,
       outcome = CASE e.status
           WHEN 'pending' THEN %(refused)s::jsonb
           WHEN 'done' THEN jsonb_strip_nulls(jsonb_build_object('campaigns', e.outcome -> 'campaigns'))
           WHEN 'refused' THEN jsonb_build_object(
               'error', e.outcome -> 'error', 'message', '', 'details', jsonb_build_object()) END,
       finished_at = coalesce(e.finished_at, %(at)s::timestamptz), last_error = '', on_hold_for = NULL
 WHERE e.brand_id = %(brand_id)s::bigint
   AND e.detail -> 'arguments' -> 'user_id' = to_jsonb(%(user_id)s::bigint)
   AND e.detail_type NOT IN ('erase-events', 'expire-pass')
