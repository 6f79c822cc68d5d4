-- set: one page of a customer's timeline. Each branch reads the first rows of its kind after the end of the previous
-- page (`places`: by kind the moment and the id of the last row), along an index, and at most `most`. `kinds` are the
-- requested ones; the others are not executed. `until`: the moment of the first page, so that later rows do not appear
-- on an older page. Rows of a kind keep the order of their key: if a later key has an earlier moment, the smaller
-- moment counts, so a page always takes the first rows of each branch and none is left out or repeated.
-- Branches use `key BETWEEN x AND x` and order by it first: with `=`, PostgreSQL may read the index of a whole table or
-- brand backwards until it has found enough rows of the customer.
-- Returns Row; locks nothing. docs/decisions/046-a-customers-page.md
SELECT kind, id, at
  FROM (SELECT branch.kind, branch.id, branch.at, branch.position,
               min(branch.at) OVER (PARTITION BY branch.kind ORDER BY branch.position) AS sort_at
          FROM ({branches}) AS branch) AS line
 ORDER BY sort_at DESC, kind, position
 LIMIT %(most)s::int
