-- set: each time that a brand's days close. Writes how many members enrolled in each month up to the day `last`. It
-- counts all months, because imported accounts may have an earlier day. Locks the rows that it changes.
INSERT INTO loyalty_membersrollup AS r (brand_id, month, enrolled, active, lapsed)
SELECT p.brand_id, date_trunc('month', p.enrolled_at AT TIME ZONE %(zone)s::text)::date, count(*), 0, 0
  FROM user_points p
 WHERE p.brand_id = %(brand)s::bigint
   AND p.enrolled_at < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s::text
 GROUP BY 1, 2
    ON CONFLICT (brand_id, month) DO UPDATE SET enrolled = excluded.enrolled WHERE r.enrolled <> excluded.enrolled
