-- set: one page of a customer's timeline. Each branch brings the first rows of its kind behind the place where the page
-- before ended (`places`, by kind the moment and the id of the last row), along an index, and no more than `most`; `kinds`
-- are those asked for, the others are not executed. `until`: the moment of the first page, so that what came since does not
-- slip into an older one. Rows of a kind keep the order of their key: where a later key has an earlier moment, the
-- smaller moment counts, so a page always takes the first rows of each branch and none is left out or shown twice.
-- Branches say `key BETWEEN x AND x` and order by it first: with `=`, PostgreSQL may walk the index of a whole table or brand
-- backwards instead, until it has met enough rows of the customer.
-- Returns Row; locks nothing. docs/decisions/046-a-customers-page.md
SELECT kind, id, at
  FROM (SELECT branch.kind, branch.id, branch.at, branch.position,
               min(branch.at) OVER (PARTITION BY branch.kind ORDER BY branch.position) AS sort_at
          FROM ({branches}) AS branch) AS line
 ORDER BY sort_at DESC, kind, position
 LIMIT %(most)s::int
