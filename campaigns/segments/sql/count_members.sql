-- set: the page of a segment while it is edited. How many members fulfil its conditions, and the ids of a few of their
-- accounts. One aggregate computes both, so that several processes can take part: otherwise they would pass a million
-- rows between them. Locks nothing.
SELECT count(*) AS members, coalesce((array_agg(account_id))[1:5], '{}') AS sample
  FROM (
{matching}
) AS matching
