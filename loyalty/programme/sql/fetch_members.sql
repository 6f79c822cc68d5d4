-- set: Home. The members of the brands `brands`: enrolments on each day from `first` to `last` (days from each brand's
-- `since` on are counted live, through the index of a brand's enrolments), the months of enrolment from `first_month`
-- on with the members active in each month, the members on each level, and what a point costs each brand on the day
-- `last`. Returns MemberCount, whose `kind` says which of these it is. Locks nothing.
WITH brand AS MATERIALIZED (
    SELECT b.id, b.zone, b.since, greatest(b.since, %(first)s::date)::timestamp AT TIME ZONE b.zone AS begins,
           (%(last)s::date + 1)::timestamp AT TIME ZONE b.zone AS ends
      FROM unnest(%(brands)s::bigint[], %(zones)s::text[], %(since)s::date[]) AS b (id, zone, since)
), enrolled AS (
    SELECT e.day, e.enrolled
      FROM brand b JOIN loyalty_enrolmentrollup e ON e.brand_id = b.id
     WHERE e.day BETWEEN %(first)s::date AND %(last)s::date AND e.day < b.since
     UNION ALL
    SELECT (p.enrolled_at AT TIME ZONE b.zone)::date, 1
      FROM brand b JOIN user_points p ON p.brand_id = b.id
     WHERE p.enrolled_at >= b.begins AND p.enrolled_at < b.ends
)
SELECT 'enrolled' AS kind, day, NULL::date AS month, '' AS name, sum(enrolled)::numeric AS number
  FROM enrolled GROUP BY day
 UNION ALL
SELECT 'cohort', NULL, m.month, '', sum(m.enrolled)
  FROM loyalty_membersrollup m JOIN brand b ON b.id = m.brand_id
 WHERE m.month >= %(first_month)s::date AND m.enrolled > 0 GROUP BY m.month
 UNION ALL
SELECT 'active', c.cohort, c.month, '', sum(c.active)
  FROM loyalty_cohortrollup c JOIN brand b ON b.id = c.brand_id
 WHERE c.cohort >= %(first_month)s::date GROUP BY c.cohort, c.month
 UNION ALL
SELECT 'level', NULL, NULL, l.level, sum(l.members)
  FROM loyalty_levelrollup l JOIN brand b ON b.id = l.brand_id GROUP BY l.level
 UNION ALL
SELECT 'threshold', NULL, NULL, l.name, min(l.threshold)
  FROM loyalty_brandlevel l JOIN brand b ON b.id = l.brand_id GROUP BY l.name
 UNION ALL
(SELECT DISTINCT ON (c.brand_id) 'cost', c.valid_from, NULL, c.brand_id::text, c.cost
   FROM loyalty_pointcost c JOIN brand b ON b.id = c.brand_id
  WHERE c.valid_from <= %(last)s::date ORDER BY c.brand_id, c.valid_from DESC)
