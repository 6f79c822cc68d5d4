-- check: every segment's members. Returns a Contradiction for each that is not an account of the segment's brand.
SELECT format('segment %%s, account %%s', s.segment_id, s.account_id) AS subject, format('brand %%s', g.brand_id) AS expected,
       format('brand %%s', coalesce(m.brand_id::text, 'none')) AS actual
  FROM loyalty_segmentmember s JOIN loyalty_segment g ON g.id = s.segment_id
  LEFT JOIN user_points m ON m.user_point_id = s.account_id
 WHERE m.brand_id IS DISTINCT FROM g.brand_id OR s.brand_id <> g.brand_id
