"""Adds what models cannot say: the audit log refuses changes, and a sandbox stays one."""

from django.db import migrations

# A change passes only where an erased person's name is replaced in the text. TRUNCATE fires no trigger of rows.
AUDIT_LOG_IS_APPEND_ONLY = """
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('audit.erasing', true) = 'on'
       AND (NEW.id, NEW.at, NEW.user_id, NEW.api_key_id, NEW.brand_id, NEW.kind, NEW.row_id, NEW.action, NEW.request_id)
           IS NOT DISTINCT FROM
           (OLD.id, OLD.at, OLD.user_id, OLD.api_key_id, OLD.brand_id, OLD.kind, OLD.row_id, OLD.action, OLD.request_id)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'brands_auditlogentry is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_trail_is_append_only BEFORE UPDATE OR DELETE ON brands_auditlogentry
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_trail_not_truncated BEFORE TRUNCATE ON brands_auditlogentry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
"""
# A sandbox that became live would have test codes on real products, and customers who never heard of anything.
SANDBOX_IS_FOR_GOOD = """
CREATE FUNCTION refuse_sandbox_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'whether a brand is a sandbox is set when it is made' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER sandbox_is_for_good BEFORE UPDATE ON brands_brand
    FOR EACH ROW WHEN (NEW.is_sandbox IS DISTINCT FROM OLD.is_sandbox) EXECUTE FUNCTION refuse_sandbox_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(AUDIT_LOG_IS_APPEND_ONLY, migrations.RunSQL.noop),
        migrations.RunSQL(SANDBOX_IS_FOR_GOOD, migrations.RunSQL.noop),
    ]
