"""Adds what models cannot express: the audit log is append-only, and a sandbox always stays one."""

from django.db import migrations

# For every append-only table. A trigger's arguments are the setting that an erasure of personal data switches on, and
# the columns that it may then change; without arguments no row can change. TRUNCATE does not fire row triggers, so it
# has a trigger of its own.
APPEND_ONLY = """
CREATE FUNCTION refuse_change_of_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting(TG_ARGV[0], true) = 'on' THEN
        IF to_jsonb(OLD) - TG_ARGV[1:] = to_jsonb(NEW) - TG_ARGV[1:] THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_trail_is_append_only BEFORE UPDATE OR DELETE ON brands_auditlogentry
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_append_only('audit.erasing', 'row_name', 'reason', 'changes');
CREATE TRIGGER audit_trail_not_truncated BEFORE TRUNCATE ON brands_auditlogentry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_append_only();
"""
# If a sandbox became live, its test codes would be on real products, and its customers would have received no messages.
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
        migrations.RunSQL(APPEND_ONLY, migrations.RunSQL.noop),
        migrations.RunSQL(SANDBOX_IS_FOR_GOOD, migrations.RunSQL.noop),
    ]
