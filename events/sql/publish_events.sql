-- hot: each change that publishes. Stores events in the transaction of the changes that they report.
{insert_events}
RETURNING id
