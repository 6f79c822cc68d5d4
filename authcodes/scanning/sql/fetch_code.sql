-- hot: each scan. What one scan must know, as code_snapshot.sql says. `user_id` is null for a guest; `scan_id` is the scan
-- whose accrual asks, else null; `epoch`, `session` and `token_brand` are of the customer's token. Returns CodeSnapshot, no
-- row where there is no such code. Locks nothing.
{code_snapshot}
