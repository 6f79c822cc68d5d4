-- set: each time that a brand's days close. Writes how many members enrolled on each day up to the day `last`, whose old rows
-- are deleted; all days, because accounts may be imported with an earlier day. Locks nothing that was there before.
INSERT INTO loyalty_enrolmentrollup (brand_id, day, enrolled)
SELECT p.brand_id, (p.enrolled_at AT TIME ZONE %(zone)s::text)::date, count(*)
  FROM user_points p
 WHERE p.brand_id = %(brand)s::bigint
   AND p.enrolled_at < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s::text
 GROUP BY 1, 2
