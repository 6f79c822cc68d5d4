-- set: the erasure of a customer. Their events that wait for a worker, or that a worker has leased. Locks the events.
{erase_events}
   AND e.status = 'pending'
