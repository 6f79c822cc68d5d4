"""TRUNCATE is refused as UPDATE and DELETE are: it fires no trigger of rows, so it gets one of its own."""

from django.db import migrations

INSTALL = """
CREATE TRIGGER audit_trail_not_truncated BEFORE TRUNCATE ON brands_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
"""
REMOVE = "DROP TRIGGER audit_trail_not_truncated ON brands_auditentry"


class Migration(migrations.Migration):
    dependencies = [("brands", "0009_refresh_tokens_answered_again")]

    operations = [migrations.RunSQL(INSTALL, REMOVE)]
