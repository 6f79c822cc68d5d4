-- set: each evaluation of a segment. Makes its members those of `matching`; changes only some members if only they are
-- evaluated. Returns how many were added and removed. Locks the rows that it deletes.
WITH matching AS MATERIALIZED (
{matching}
), gone AS (
    DELETE FROM loyalty_segmentmember s
     WHERE s.segment_id = %(segment_id)s::bigint AND s.account_id {among_accounts}
       AND NOT EXISTS (SELECT FROM matching WHERE matching.account_id = s.account_id)
 RETURNING s.id
), joined AS (
    INSERT INTO loyalty_segmentmember (brand_id, segment_id, account_id, since)
    SELECT %(brand_id)s::bigint, %(segment_id)s::bigint, matching.account_id, %(at)s::timestamptz
      FROM matching
     WHERE NOT EXISTS (SELECT FROM loyalty_segmentmember s
                        WHERE s.segment_id = %(segment_id)s::bigint AND s.account_id {among_accounts}
                          AND s.account_id = matching.account_id)
        ON CONFLICT (segment_id, account_id) DO NOTHING
 RETURNING id
)
SELECT (SELECT count(*) FROM joined) AS joined, (SELECT count(*) FROM gone) AS gone
