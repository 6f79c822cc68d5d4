-- hot: each scan that takes no slot, at brands whose webhooks subscribe to scans. Records it and publishes its events.
-- Returns its scan_id. Locks nothing.
WITH recorded AS (
{insert_scan}
), published AS (
{insert_events}
)
SELECT scan_id FROM recorded
