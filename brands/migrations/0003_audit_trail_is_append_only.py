"""The audit trail refuses UPDATE and DELETE, as the ledger does: what was done stays told as it was done."""

from django.db import migrations

INSTALL = """
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'brands_auditentry is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_trail_is_append_only BEFORE UPDATE OR DELETE ON brands_auditentry
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
"""
REMOVE = """
DROP TRIGGER audit_trail_is_append_only ON brands_auditentry;
DROP FUNCTION refuse_audit_change();
"""


class Migration(migrations.Migration):
    dependencies = [("brands", "0002_audit_trail")]

    operations = [migrations.RunSQL(INSTALL, REMOVE)]
