-- set: the erasure of a customer. Changes the notes of an account's entries; the ledger's trigger allows this while the
-- transaction is marked as an erasure.
UPDATE loyalty_transaction t SET note = reworded.note
  FROM jsonb_to_recordset(%(notes)s::jsonb) AS reworded (number bigint, note text)
 WHERE t.loyalty_transaction_id = reworded.number AND t.user_point_id = %(account)s::bigint
