-- set: each change of codes by staff. Switches codes off. `{which}`: the codes; `{returning}`: what to return of those that
-- change, or nothing. Whoever comes second finds the code as the first left it. Locks the codes that it changes.
UPDATE authcodes_authcode SET deactivated_at = %(at)s::timestamptz WHERE {which} AND deactivated_at IS NULL
{returning}
