"""When members last scanned, for the list of members; called through settings.MEMBERS_SEEN."""

from core.db import statements

SEEN = statements.part("authcodes/rollups/sql/members_seen.sql")
