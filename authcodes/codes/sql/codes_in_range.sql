-- set: each change of codes by staff. Part of the statements on codes: those from `first` to `last` of a batch.
batch_id = %(batch)s::bigint AND code BETWEEN %(first)s::text AND %(last)s::text
