-- hot: each change that publishes. Stores events beside the changes that they tell of, in their transaction.
{insert_events}
RETURNING id
