"""TRUNCATE is refused as UPDATE and DELETE are: it fires no trigger of rows, so it gets one of its own."""

from django.db import migrations

INSTALL = """
CREATE TRIGGER code_change_not_truncated BEFORE TRUNCATE ON authcodes_codechange
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_code_change_change();
"""
REMOVE = "DROP TRIGGER code_change_not_truncated ON authcodes_codechange"


class Migration(migrations.Migration):
    dependencies = [("authcodes", "0014_jobs_that_tell_customers")]

    operations = [migrations.RunSQL(INSTALL, REMOVE)]
