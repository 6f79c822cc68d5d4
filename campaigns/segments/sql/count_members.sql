-- set: the page of a segment while it is edited. How many members fulfil its conditions, and the ids of a few accounts that do.
-- Locks nothing.
WITH matching AS MATERIALIZED (
{matching}
)
SELECT (SELECT count(*) FROM matching) AS members, ARRAY(SELECT account_id FROM matching LIMIT 5) AS sample
