-- hot: as publish_events.sql; an event whose id is there already is left as it is, and has no row.
{insert_events}
ON CONFLICT (brand_id, source, event_id) DO NOTHING
RETURNING id
