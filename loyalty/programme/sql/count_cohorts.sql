-- set: each month with a day that is rolled up, whose old rows are deleted. Writes how many members of each month of
-- enrolment were active in the months `months`. Locks no existing rows.
INSERT INTO loyalty_cohortrollup (brand_id, cohort, month, active)
SELECT a.brand_id, date_trunc('month', p.enrolled_at AT TIME ZONE %(zone)s::text)::date, a.month, count(*)
  FROM loyalty_activemember a JOIN user_points p USING (user_point_id)
 WHERE a.brand_id = %(brand)s::bigint AND a.month = ANY (%(months)s::date[])
 GROUP BY 1, 2, 3
