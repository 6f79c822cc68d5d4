-- hot: each scan, accrual and redemption. Part of the statements that publish: inserts as many events as `origin` has
-- rows. An event is a JSON array of id, kind, status, detail, lane, seconds to wait, hours to try, brand, the number of
-- the item that it follows from, and the request that caused it.
INSERT INTO events_event (
    event_id, source, detail_type, brand_id, account, region, time, detail, lane, request_id, status, attempts, due_at,
    give_up_at, last_error, created_at
)
SELECT (o.event->>0)::uuid, %(event_source)s::text, o.event->>1, (o.event->>7)::bigint, %(event_account)s::text,
       %(event_region)s::text, %(event_time)s::timestamptz, o.event->3, o.event->>4, o.event->>9,
       o.event->>2, 0, statement_timestamp() + make_interval(secs => (o.event->>5)::float),
       %(event_time)s::timestamptz + make_interval(hours => (o.event->>6)::int), '', statement_timestamp()
  FROM {origin}
