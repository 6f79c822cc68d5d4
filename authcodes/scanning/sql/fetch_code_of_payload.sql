-- hot: each scan whose content holds no code of ours. Returns the code that was printed elsewhere as exactly this text.
-- Locks nothing.
SELECT code FROM authcodes_authcode WHERE payload = %(payload)s::text COLLATE "C"
