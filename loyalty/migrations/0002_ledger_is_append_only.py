"""The ledger refuses UPDATE and DELETE: a wrong line is answered by another line, never edited away."""

from django.db import migrations

INSTALL = """
CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'loyalty_transaction is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE ON loyalty_transaction
    FOR EACH ROW EXECUTE FUNCTION refuse_ledger_change();
"""
REMOVE = """
DROP TRIGGER ledger_is_append_only ON loyalty_transaction;
DROP FUNCTION refuse_ledger_change();
"""


class Migration(migrations.Migration):
    dependencies = [("loyalty", "0001_points_ledger_and_events")]

    operations = [migrations.RunSQL(INSTALL, REMOVE)]
