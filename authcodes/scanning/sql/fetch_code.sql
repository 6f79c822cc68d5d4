-- hot: each scan. What one scan needs, see code_snapshot.sql. `user_id` is null for a guest; `scan_id` is the scan
-- whose accrual runs this, else null; `epoch`, `session` and `token_brand` come from the customer's token. Returns
-- CodeSnapshot, no row if the code does not exist. Locks nothing.
{code_snapshot}
