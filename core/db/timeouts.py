"""How long a statement may take that waits for another transaction, or changes many rows."""

SET_LONG_TIMEOUT = "SET LOCAL statement_timeout = '15min'"  # until the end of the transaction
