-- set: the erasure of a customer. Their events with ids above `after` and up to `until`. Locks the events.
{erase_events}
   AND e.id > %(after)s::bigint AND e.id <= %(until)s::bigint
