-- set: each change of codes by staff. Part of the statements on codes: those with these ids.
id = ANY(%(ids)s::bigint[])
