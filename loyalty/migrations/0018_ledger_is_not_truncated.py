"""TRUNCATE is refused as UPDATE and DELETE are: it fires no trigger of rows, so it gets one of its own."""

from django.db import migrations

INSTALL = """
CREATE TRIGGER ledger_not_truncated BEFORE TRUNCATE ON loyalty_transaction
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
"""
REMOVE = "DROP TRIGGER ledger_not_truncated ON loyalty_transaction"


class Migration(migrations.Migration):
    dependencies = [("loyalty", "0017_things_that_were_won_wait")]

    operations = [migrations.RunSQL(INSTALL, REMOVE)]
