-- set: actions on many rows of one kind, such as an import of 100,000 members. Inserts one entry per row from parallel
-- arrays. Locks nothing.
INSERT INTO brands_auditlogentry
       (at, user_id, api_key_id, brand_id, kind, row_id, row_name, action, changes, reason, request_id)
SELECT %(at)s::timestamptz, %(user_id)s::bigint, %(key_id)s::bigint, %(brand_id)s::bigint, %(kind)s::text, r.id, r.name,
       %(action)s::text, r.changes::jsonb, %(reason)s::text, %(request_id)s::text
  FROM unnest(%(row_ids)s::text[], %(row_names)s::text[], %(changes)s::text[]) WITH ORDINALITY AS r (id, name, changes, place)
 ORDER BY r.place
