-- set: each time that a brand's days close. Writes how many members enrolled on each day up to the day `last`, whose
-- old rows are deleted. It counts all days, because imported accounts may have an earlier day. Locks no existing rows.
INSERT INTO loyalty_enrolmentrollup (brand_id, day, enrolled)
SELECT p.brand_id, (p.enrolled_at AT TIME ZONE %(zone)s::text)::date, count(*)
  FROM user_points p
 WHERE p.brand_id = %(brand)s::bigint
   AND p.enrolled_at < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s::text
 GROUP BY 1, 2
