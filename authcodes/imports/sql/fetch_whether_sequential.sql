-- set: each import of codes printed elsewhere, when it is checked. Returns whether more than half of its good codes
-- directly follow another: the same beginning, and a number that is one higher. Locks nothing.
SELECT coalesce(avg(CASE WHEN number = before + 1 THEN 1 ELSE 0 END) > 0.5, false) AS is_sequential
  FROM (SELECT number, lag(number) OVER (PARTITION BY stem ORDER BY number) AS before
          FROM (SELECT rtrim(code, '0123456789') AS stem, right(substring(code from '[0-9]+$'), 18)::bigint AS number
                  FROM authcodes_importrow
                 WHERE upload_id = %(upload)s::bigint AND error = '') codes) followed
