"""The history of codes still refuses every change but one: that an erased person's name is replaced in a reason."""

from django.db import migrations

FORGETTING = """
CREATE OR REPLACE FUNCTION refuse_code_change_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('codes.erasing', true) = 'on' THEN
        IF to_jsonb(OLD) - 'reason' = to_jsonb(NEW) - 'reason' THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'authcodes_codechange is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""
STRICT = """
CREATE OR REPLACE FUNCTION refuse_code_change_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'authcodes_codechange is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("authcodes", "0019_lookups_of_codes")]

    operations = [migrations.RunSQL(FORGETTING, STRICT)]
