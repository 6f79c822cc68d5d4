-- set: each change of codes by staff. Switches codes on again. `{which}`: the codes; `{returning}`: what to return of those
-- that change, or nothing. Whoever comes second finds the code as the first left it. Locks the codes that it changes.
UPDATE authcodes_authcode SET deactivated_at = NULL WHERE {which} AND deactivated_at IS NOT NULL
{returning}
