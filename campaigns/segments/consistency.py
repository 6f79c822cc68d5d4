"""Checks that segments have only members of their own brand; changes nothing."""

from core.consistency import check

CHECKS = {"segment has a member of another brand": check("campaigns/segments/sql/check_members.sql")}
