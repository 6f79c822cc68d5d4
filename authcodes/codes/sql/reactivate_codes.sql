-- set: each change of codes by staff. Reactivates codes. `{which}`: the codes; `{returning}`: what to return of the
-- changed codes, or nothing. Of two concurrent changes the second sees the code as the first left it. Locks the codes
-- that it changes.
UPDATE authcodes_authcode SET deactivated_at = NULL WHERE {which} AND deactivated_at IS NOT NULL
{returning}
