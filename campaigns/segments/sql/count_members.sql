-- set: the page of a segment while it is edited. How many members fulfil its conditions, and the ids of a few accounts that do.
-- Locks nothing. One aggregate of both, which several processes can take part in: a million rows would have to be handed
-- from one to another else.
SELECT count(*) AS members, coalesce((array_agg(account_id))[1:5], '{}') AS sample
  FROM (
{matching}
) AS matching
