-- set: the erasure of a person. Of their events those that wait for a worker, or are with one. Locks the events.
{erase_events}
   AND e.status = 'pending'
