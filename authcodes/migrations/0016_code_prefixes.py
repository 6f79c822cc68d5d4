"""Reserve each prefix for one brand.

Codes are a prefix and 1 to 18 digits, so two prefixes can write the same code exactly if one is the other with digits
added, 17 at most. `prefix_is_taken` says whether another brand has such a prefix, `range_is_taken` whether another
brand has some of these codes (possible only where data is older than this migration, or an operator moved a prefix).
Both read rows of all brands, whoever calls them, and answer yes or no.

Brands keep the prefixes of their batches. Where batches of two brands have colliding prefixes, the brand of the older
batch keeps the prefix; the other keeps its codes and batches, and needs a new prefix for its next batch.
"""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

INSTALL = r"""
CREATE FUNCTION prefixes_collide(one text, other text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT abs(length(one) - length(other)) < 18
       AND CASE WHEN length(one) < length(other)
                THEN left(other, length(one)) = one AND substr(other, length(one) + 1) ~ '^[0-9]+$'
                ELSE left(one, length(other)) = other AND substr(one, length(other) + 1) ~ '^[0-9]*$' END
$$;

-- Whoever reserves or uses prefixes that differ in their last digits only takes turns.
CREATE FUNCTION lock_prefix(wanted text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(rtrim(wanted, '0123456789'), 7216005))
$$;

CREATE FUNCTION prefix_is_taken(for_brand bigint, wanted text, own_id bigint DEFAULT 0) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT 1 FROM authcodes_codeprefix p
                    WHERE rtrim(p.prefix, '0123456789') = rtrim(wanted, '0123456789')
                      AND p.brand_id <> for_brand AND p.id <> own_id AND prefixes_collide(p.prefix, wanted))
$$;

CREATE FUNCTION range_is_taken(for_brand bigint, wanted text, first text, last text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT 1 FROM authcodes_batchrange b
                    WHERE b.first_code <= last COLLATE "C" AND b.last_code >= first COLLATE "C"
                      AND length(b.first_code) = length(first) AND b.brand_id <> for_brand
                      AND rtrim(b.prefix, '0123456789') = rtrim(wanted, '0123456789'))
$$;

CREATE FUNCTION refuse_taken_prefix() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM lock_prefix(NEW.prefix);
    IF prefix_is_taken(NEW.brand_id, NEW.prefix, NEW.id) THEN
        RAISE EXCEPTION 'this prefix is taken' USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'code_prefix_taken';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER code_prefix_taken BEFORE INSERT OR UPDATE OF prefix, brand_id ON authcodes_codeprefix
    FOR EACH ROW EXECUTE FUNCTION refuse_taken_prefix();

-- The share lock lets nobody move or free the prefix until the batch is committed.
CREATE FUNCTION refuse_unreserved_batch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM 1 FROM authcodes_codeprefix WHERE prefix = NEW.prefix AND brand_id = NEW.brand_id FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this brand has not reserved this prefix'
              USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'batch_prefix_reserved';
    END IF;
    PERFORM lock_prefix(NEW.prefix);
    IF range_is_taken(NEW.brand_id, NEW.prefix, NEW.first_code, NEW.last_code) THEN
        RAISE EXCEPTION 'some of these codes are taken'
              USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'batch_codes_taken';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER batch_prefix_reserved
    BEFORE INSERT OR UPDATE OF brand_id, prefix, first_code, last_code ON authcodes_batchrange
    FOR EACH ROW EXECUTE FUNCTION refuse_unreserved_batch();

-- Functions that run as their owner must find its tables, not those of a caller's temporary schema.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['prefix_is_taken(bigint, text, bigint)', 'range_is_taken(bigint, text, text, text)',
                                'refuse_taken_prefix()', 'refuse_unreserved_batch()'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema());
    END LOOP;
END $$;

CREATE INDEX code_prefix_stem ON authcodes_codeprefix (rtrim(prefix, '0123456789'));
"""
REMOVE = """
DROP INDEX code_prefix_stem;
DROP TRIGGER batch_prefix_reserved ON authcodes_batchrange;
DROP FUNCTION refuse_unreserved_batch();
DROP TRIGGER code_prefix_taken ON authcodes_codeprefix;
DROP FUNCTION refuse_taken_prefix();
DROP FUNCTION range_is_taken(bigint, text, text, text);
DROP FUNCTION prefix_is_taken(bigint, text, bigint);
DROP FUNCTION lock_prefix(text);
DROP FUNCTION prefixes_collide(text, text);
"""
RESERVE = """
DO $$
DECLARE old record;
BEGIN
    FOR old IN SELECT brand_id, prefix, min(created_at) AS first_at, min(id) AS first_id FROM authcodes_batchrange
                GROUP BY brand_id, prefix ORDER BY first_at, first_id LOOP
        IF prefix_is_taken(old.brand_id, old.prefix) THEN
            RAISE NOTICE 'prefix "%" of brand % stays with the brand that used it first', old.prefix, old.brand_id;
        ELSE
            INSERT INTO authcodes_codeprefix (brand_id, prefix, reserved_at)
            VALUES (old.brand_id, old.prefix, old.first_at);
        END IF;
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("authcodes", "0015_history_of_codes_is_not_truncated"),
        ("brands", "0011_points_ceiling_and_protection"),
    ]

    operations = [
        migrations.CreateModel(
            name="CodePrefix",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("prefix", models.CharField(blank=True, db_collation="C", max_length=32)),
                ("reserved_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "brand",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="code_prefixes", to="brands.brand"
                    ),
                ),
                (
                    "reserved_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "code prefix",
                "verbose_name_plural": "code prefixes",
                "ordering": ["prefix", "id"],
                "constraints": [
                    models.UniqueConstraint(fields=("prefix",), name="code_prefix_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("prefix__regex", "^[A-Za-z0-9_-]*$")), name="code_prefix_characters"
                    ),
                ],
            },
        ),
        migrations.RunSQL(INSTALL, REMOVE),
        migrations.RunSQL(RESERVE, migrations.RunSQL.noop),
    ]
