-- set: the erasure of a person. Changes the notes of an account's entries; the trigger on the ledger lets that be while
-- the transaction says that it erases a person.
UPDATE loyalty_transaction t SET note = reworded.note
  FROM jsonb_to_recordset(%(notes)s::jsonb) AS reworded (number bigint, note text)
 WHERE t.loyalty_transaction_id = reworded.number AND t.user_point_id = %(account)s::bigint
