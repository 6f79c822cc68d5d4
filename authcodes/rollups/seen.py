"""Who scanned lately, for the list of members: what settings.MEMBERS_SEEN names."""

from core.db import statements

SEEN = statements.part("authcodes/rollups/sql/members_seen.sql")
