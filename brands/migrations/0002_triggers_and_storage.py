"""Adds what models cannot say: the audit log refuses changes."""

from django.db import migrations

# A change passes only where an erased person's name is replaced in the text. TRUNCATE fires no trigger of rows.
AUDIT_LOG_IS_APPEND_ONLY = """
CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('audit.erasing', true) = 'on'
       AND (NEW.id, NEW.at, NEW.user_id, NEW.brand_id, NEW.kind, NEW.row_id, NEW.action, NEW.request_id)
           IS NOT DISTINCT FROM
           (OLD.id, OLD.at, OLD.user_id, OLD.brand_id, OLD.kind, OLD.row_id, OLD.action, OLD.request_id) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'brands_auditlogentry is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_trail_is_append_only BEFORE UPDATE OR DELETE ON brands_auditlogentry
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_trail_not_truncated BEFORE TRUNCATE ON brands_auditlogentry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(AUDIT_LOG_IS_APPEND_ONLY, migrations.RunSQL.noop),
    ]
