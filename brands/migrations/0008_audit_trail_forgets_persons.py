"""The audit trail still refuses every change but one: that an erased person's name is replaced in what it tells."""

from django.db import migrations

FORGETTING = """
CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('audit.erasing', true) = 'on'
       AND (NEW.id, NEW.at, NEW.person_id, NEW.brand_id, NEW.kind, NEW.row_id, NEW.action, NEW.request_id)
           IS NOT DISTINCT FROM
           (OLD.id, OLD.at, OLD.person_id, OLD.brand_id, OLD.kind, OLD.row_id, OLD.action, OLD.request_id) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'brands_auditentry is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""
STRICT = """
CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'brands_auditentry is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("brands", "0007_points_of_a_brand_expire")]

    operations = [migrations.RunSQL(FORGETTING, STRICT)]
