"""Adds what models cannot express: each code prefix belongs to one brand, and histories are append-only."""

from django.db import migrations

# Rows can change only while personal data is erased, and only in the columns that may name a person.
HISTORIES_ARE_APPEND_ONLY = """
CREATE TRIGGER code_change_is_append_only BEFORE UPDATE OR DELETE ON authcodes_codechange
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_append_only('codes.erasing', 'reason', 'detail');
CREATE TRIGGER code_change_not_truncated BEFORE TRUNCATE ON authcodes_codechange
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_append_only();
CREATE TRIGGER recall_return_is_append_only BEFORE UPDATE OR DELETE ON authcodes_recallreturn
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_append_only('codes.erasing', 'note');
CREATE TRIGGER recall_return_not_truncated BEFORE TRUNCATE ON authcodes_recallreturn
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_append_only();
"""
# The clock's time, not the transaction's, so that rows changed by the same statement differ.
PRODUCT_CHANGES = """
CREATE FUNCTION note_product_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER product_change_is_noted BEFORE UPDATE ON authcodes_product
    FOR EACH ROW EXECUTE FUNCTION note_product_change();
"""
# A code is a prefix and 1 to 18 digits, so two prefixes can form the same code if and only if one is the other with at
# most 17 digits added. `prefix_is_taken`: whether another brand has such a prefix. `range_is_taken`: whether another
# brand has some of these codes, which can happen only after an operator has moved a prefix. Both read the rows of all
# brands, with any role, and return only yes or no.
CODE_PREFIXES = """
CREATE FUNCTION prefixes_collide(one text, other text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT abs(length(one) - length(other)) < 18
       AND CASE WHEN length(one) < length(other)
                THEN left(other, length(one)) = one AND substr(other, length(one) + 1) ~ '^[0-9]+$'
                ELSE left(one, length(other)) = other AND substr(one, length(other) + 1) ~ '^[0-9]*$' END
$$;

-- Transactions that reserve or use prefixes wait for each other if these differ only in their last digits.
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
                      AND length(b.first_code) = length(first) AND b.brand_id <> for_brand AND NOT b.printed_elsewhere
                      AND rtrim(b.prefix, '0123456789') = rtrim(wanted, '0123456789'))
        OR EXISTS (SELECT 1 FROM authcodes_authcode c
                    WHERE c.code BETWEEN (first COLLATE "C") AND (last COLLATE "C") AND c.payload IS NOT NULL
                      AND length(c.code) = length(first) AND c.brand_id <> for_brand)
        OR EXISTS (SELECT 1 FROM authcodes_authcode c
                    WHERE c.payload BETWEEN (first COLLATE "C") AND (last COLLATE "C")
                      AND length(c.payload) = length(first) AND c.brand_id <> for_brand)
$$;

CREATE FUNCTION refuse_taken_prefix() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(7216006);
    PERFORM lock_prefix(NEW.prefix);
    IF prefix_is_taken(NEW.brand_id, NEW.prefix, NEW.id) THEN
        RAISE EXCEPTION 'this prefix is taken' USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'code_prefix_taken';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER code_prefix_taken BEFORE INSERT OR UPDATE OF prefix, brand_id ON authcodes_codeprefix
    FOR EACH ROW EXECUTE FUNCTION refuse_taken_prefix();

-- The share lock prevents moving or releasing the prefix until the batch is committed.
CREATE FUNCTION refuse_unreserved_batch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF NEW.printed_elsewhere THEN
        RETURN NEW;
    END IF;
    PERFORM 1 FROM authcodes_codeprefix WHERE prefix = NEW.prefix AND brand_id = NEW.brand_id FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this brand has not reserved this prefix'
              USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'batch_prefix_reserved';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(7216006);
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

-- A function that runs as its owner must use the owner's tables, not tables in the caller's temporary schema.
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
# A code that was printed elsewhere may not belong to another brand: by its code, by a prefix that can form it, or by
# its payload, which may be another brand's, contain another brand's code, or be an address at another brand's hostname.
# Codes to generate may not be among those that another brand has imported. These functions read the rows of all brands,
# with any role, and return only yes or no. Storing a batch takes a shared lock that an import of codes takes
# exclusively before its last check, so that each sees the other's codes.
PRINTED_ELSEWHERE = """
CREATE FUNCTION code_is_reserved(for_brand bigint, wanted text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT 1 FROM authcodes_codeprefix p
                    WHERE rtrim(p.prefix, '0123456789') = rtrim(wanted, '0123456789') AND p.brand_id <> for_brand
                      AND left(wanted, length(p.prefix)) = p.prefix
                      AND substr(wanted, length(p.prefix) + 1) ~ '^[0-9]{1,18}$')
$$;

CREATE FUNCTION printed_code_is_taken(
    for_brand bigint, wanted text, printed text, inside text, host text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT 1 FROM authcodes_authcode c
                    WHERE c.code IN (wanted COLLATE "C", inside COLLATE "C") AND c.brand_id <> for_brand)
        OR EXISTS (SELECT 1 FROM authcodes_authcode c
                    WHERE c.payload IN (wanted COLLATE "C", printed COLLATE "C") AND c.brand_id <> for_brand)
        OR code_is_reserved(for_brand, wanted) OR (inside <> '' AND code_is_reserved(for_brand, inside))
        OR (host <> '' AND EXISTS (
               SELECT 1 FROM brands_brandhostname h
                WHERE h.hostname IN (host, split_part(host, ':', 1)) AND h.brand_id <> for_brand))
$$;

-- As code_is_reserved, for all valid rows of an upload at once.
CREATE FUNCTION upload_is_reserved(for_brand bigint, upload bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT 1 FROM authcodes_importrow r
                     JOIN authcodes_codeprefix p ON rtrim(p.prefix, '0123456789') = rtrim(r.code, '0123456789')
                    WHERE r.upload_id = upload AND r.error = '' AND p.brand_id <> for_brand
                      AND left(r.code, length(p.prefix)) = p.prefix
                      AND substr(r.code, length(p.prefix) + 1) ~ '^[0-9]{1,18}$')
$$;

-- A function that runs as its owner must use the owner's tables, not tables in the caller's temporary schema.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['code_is_reserved(bigint, text)', 'upload_is_reserved(bigint, bigint)',
                                'printed_code_is_taken(bigint, text, text, text, text)'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema());
    END LOOP;
END $$;
"""
# The function is in loyalty's migration of the same name.
POINTS_ABOVE_CEILING = """
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF points_per_scan ON authcodes_batchrange
    FOR EACH ROW EXECUTE FUNCTION refuse_points_above_ceiling('authcodes.batchrange', 'points_per_scan', '');
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF redeem_point_value ON authcodes_product
    FOR EACH ROW EXECUTE FUNCTION refuse_points_above_ceiling('authcodes.product', 'redeem_point_value', '');
"""
# With free space in a page, a scan's update of a code changes no index (a heap-only update). The indexes serve the
# dashboard's filters by status. They contain no column that a scan updates, and they allow index-only scans for ids.
STORAGE = """
ALTER TABLE authcodes_authcode SET (fillfactor = 85);
CREATE INDEX auth_code_unassigned ON authcodes_authcode (brand_id, batch_id) WHERE product_id IS NULL;
CREATE INDEX auth_code_deactivated ON authcodes_authcode (brand_id, batch_id, id) WHERE deactivated_at IS NOT NULL;
"""
# The planner has no statistics of expressions by default: these are of how often each city and region occurs.
PLACES_OF_SCANS = """
CREATE STATISTICS scan_cities ON (lower(trim(split_part(location, ',', 1)))) FROM authcodes_scan;
CREATE STATISTICS scan_regions ON (lower(trim(split_part(location, ',', 2)))) FROM authcodes_scan;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("loyalty", "0002_triggers_and_storage"),
        ("authcodes", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(HISTORIES_ARE_APPEND_ONLY, migrations.RunSQL.noop),
        migrations.RunSQL(PRODUCT_CHANGES, migrations.RunSQL.noop),
        migrations.RunSQL(CODE_PREFIXES, migrations.RunSQL.noop),
        migrations.RunSQL(PRINTED_ELSEWHERE, migrations.RunSQL.noop),
        migrations.RunSQL(POINTS_ABOVE_CEILING, migrations.RunSQL.noop),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.RunSQL(PLACES_OF_SCANS, migrations.RunSQL.noop),
    ]
