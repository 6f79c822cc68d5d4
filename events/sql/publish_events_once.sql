-- hot: as publish_events.sql; an event whose id already exists stays unchanged, and returns no row.
{insert_events}
ON CONFLICT (brand_id, source, event_id) DO NOTHING
RETURNING id
