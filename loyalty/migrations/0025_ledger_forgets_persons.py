"""The ledger still refuses every change but one: that an erased person's name is replaced in a line's note."""

from django.db import migrations

FORGETTING = """
CREATE OR REPLACE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before jsonb;
    after jsonb;
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('ledger.erasing', true) = 'on' THEN
        before := to_jsonb(OLD) - 'note';
        after := to_jsonb(NEW) - 'note';
        IF before = after THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'loyalty_transaction is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""
STRICT = """
CREATE OR REPLACE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'loyalty_transaction is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("loyalty", "0024_orders_and_currencies")]

    operations = [migrations.RunSQL(FORGETTING, STRICT)]
