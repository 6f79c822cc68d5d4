"""Adds what models cannot express: the append-only ledger, points that need approval, and the search of customers."""

from django.db import migrations

# A wrong entry is corrected by another one. Only a note can change, while a person's data is erased.
LEDGER_IS_APPEND_ONLY = """
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE ON loyalty_transaction
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_append_only('ledger.erasing', 'note');
CREATE TRIGGER ledger_not_truncated BEFORE TRUNCATE ON loyalty_transaction
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_append_only();
"""
# Only for entries without a brand: accruals, which write most entries, take the brand from the account they locked.
BRAND_OF_ENTRY = """
CREATE FUNCTION fill_brand_of_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT brand_id INTO NEW.brand_id FROM user_points WHERE user_point_id = NEW.user_point_id;
    RETURN NEW;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION fill_brand_of_entry() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER brand_of_entry BEFORE INSERT ON loyalty_transaction
    FOR EACH ROW WHEN (NEW.brand_id IS NULL) EXECUTE FUNCTION fill_brand_of_entry();
"""
# Accounts change with every accrual. With free space in a page, such an update changes no index.
ROOM_FOR_UPDATES = """
ALTER TABLE user_points SET (fillfactor = 80);
"""
# A value may stay or be reduced. It may rise above the brand's ceiling only in the transaction of an approval by a
# second person. Tables with such values have the column `brand_id`. Percentages and multipliers have ceilings of their
# own.
POINTS_ABOVE_CEILING = """
-- Arguments: the model's label, the value's column, and the column with the type of the value, or an empty text.
CREATE FUNCTION refuse_points_above_ceiling() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    fresh jsonb := to_jsonb(NEW);
    old jsonb := CASE WHEN TG_OP = 'UPDATE' THEN to_jsonb(OLD) END;
    requested numeric := (fresh ->> TG_ARGV[1])::numeric;
    most numeric;
BEGIN
    IF requested IS NULL OR (requested <= (old ->> TG_ARGV[1])::numeric
                             AND (TG_ARGV[2] = '' OR old ->> TG_ARGV[2] = fresh ->> TG_ARGV[2])) THEN
        RETURN NEW;
    END IF;
    IF TG_ARGV[2] <> '' AND fresh ->> TG_ARGV[2] = 'percentage' THEN
        most := 100;
    ELSIF TG_ARGV[2] <> '' AND fresh ->> TG_ARGV[2] = 'multiplier' THEN
        most := 10;
    ELSE
        SELECT max_points_per_scan INTO most FROM brands_brand WHERE id = NEW.brand_id;
    END IF;
    IF requested > most AND NOT EXISTS (
        SELECT 1 FROM loyalty_pointsapproval
         WHERE id = nullif(current_setting('loyalty.points_approval', true), '')::bigint AND status = 'approved'
           AND kind = TG_ARGV[0] AND row_id = NEW.id AND (values ->> TG_ARGV[1])::numeric = requested)
    THEN
        RAISE EXCEPTION 'more than % needs the approval of a second person', most
              USING ERRCODE = 'check_violation', CONSTRAINT = 'points_above_ceiling';
    END IF;
    RETURN NEW;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION refuse_points_above_ceiling() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER points_above_ceiling BEFORE INSERT OR UPDATE OF scan_reward_value, scan_reward_type
    ON loyalty_brandlevel FOR EACH ROW
    EXECUTE FUNCTION refuse_points_above_ceiling('loyalty.brandlevel', 'scan_reward_value', 'scan_reward_type');
"""
# The words by which staff find customers. Triggers write them, because users and accounts are changed in many places.
# Adding an account locks its user FOR KEY SHARE, as the foreign key does at commit; a change of an address or a name
# locks it FOR UPDATE, which waits for both. So the later transaction sees the other's changes, and no word of an old
# name remains. A brand finds a customer by its own version of the name, which its staff may have corrected.
CUSTOMER_WORDS = r"""
CREATE FUNCTION customer_words(text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT DISTINCT left(word, 64) FROM regexp_split_to_table(
        replace(lower(regexp_replace(normalize($1, NFKD), U&'[\0300-\036F]', '', 'g')), U&'\00DF', 'ss'),
        '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f\s]+') AS word
     WHERE word <> ''
$$;

CREATE FUNCTION write_words_of_user() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        PERFORM FROM brands_user WHERE id = NEW.id FOR UPDATE;
        DELETE FROM brands_customerword WHERE user_id = NEW.id;
    END IF;
    INSERT INTO brands_customerword (brand_id, user_id, word)
    SELECT b.id, NEW.id, w.word
      FROM (SELECT NEW.registered_brand_id AS id WHERE NEW.registered_brand_id IS NOT NULL
             UNION SELECT brand_id FROM user_points WHERE TG_OP = 'UPDATE' AND user_id = NEW.id) b
      LEFT JOIN user_points p ON p.brand_id = b.id AND p.user_id = NEW.id,
           LATERAL customer_words(concat_ws(' ', NEW.email, coalesce(p.first_name, NEW.first_name),
                                            coalesce(p.last_name, NEW.last_name))) AS w (word)
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION write_words_of_account() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    person bigint;
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM brands_user WHERE id = NEW.user_id FOR KEY SHARE;
        -- The + 0 makes PostgreSQL use the index of users, as a user has few words. While it has no statistics of the
        -- table, it would use that of brands, and read all words of the brand for each member of an import.
        IF NOT EXISTS (SELECT FROM brands_customerword
                        WHERE user_id = NEW.user_id AND brand_id + 0 = NEW.brand_id) THEN
            INSERT INTO brands_customerword (brand_id, user_id, word)
            SELECT NEW.brand_id, u.id, w.word
              FROM brands_user u,
                   LATERAL customer_words(concat_ws(' ', u.email, coalesce(NEW.first_name, u.first_name),
                                                    coalesce(NEW.last_name, u.last_name))) AS w (word)
             WHERE u.id = NEW.user_id
                ON CONFLICT DO NOTHING;
        END IF;
        RETURN NULL;
    END IF;
    FOREACH person IN ARRAY CASE TG_OP WHEN 'DELETE' THEN ARRAY[OLD.user_id] ELSE ARRAY[OLD.user_id, NEW.user_id] END
    LOOP
        PERFORM FROM brands_user WHERE id = person FOR UPDATE;
        DELETE FROM brands_customerword WHERE user_id = person;
        INSERT INTO brands_customerword (brand_id, user_id, word)
        SELECT b.id, u.id, w.word
          FROM brands_user u,
               LATERAL (SELECT u.registered_brand_id AS id WHERE u.registered_brand_id IS NOT NULL
                         UNION SELECT brand_id FROM user_points WHERE user_id = u.id) b
          LEFT JOIN user_points p ON p.brand_id = b.id AND p.user_id = person,
               LATERAL customer_words(concat_ws(' ', u.email, coalesce(p.first_name, u.first_name),
                                                coalesce(p.last_name, u.last_name))) AS w (word)
         WHERE u.id = person
            ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN NULL;
END $$;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['write_words_of_user()', 'write_words_of_account()'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema());
    END LOOP;
END $$;

CREATE TRIGGER words_of_new_user AFTER INSERT ON brands_user
    FOR EACH ROW WHEN (NEW.registered_brand_id IS NOT NULL) EXECUTE FUNCTION write_words_of_user();
CREATE TRIGGER words_of_user AFTER UPDATE ON brands_user
    FOR EACH ROW WHEN ((OLD.email, OLD.first_name, OLD.last_name, OLD.registered_brand_id)
                       IS DISTINCT FROM (NEW.email, NEW.first_name, NEW.last_name, NEW.registered_brand_id))
    EXECUTE FUNCTION write_words_of_user();
CREATE TRIGGER words_of_new_account AFTER INSERT ON user_points
    FOR EACH ROW EXECUTE FUNCTION write_words_of_account();
CREATE TRIGGER words_of_account AFTER UPDATE OF user_id, brand_id, first_name, last_name OR DELETE ON user_points
    FOR EACH ROW EXECUTE FUNCTION write_words_of_account();
"""
# The time up to which the list of members is complete: there are no members yet.
LISTED_MEMBERS = """
INSERT INTO loyalty_listedmembersmark (id, until) VALUES (1, now());
"""


class Migration(migrations.Migration):
    dependencies = [
        ("brands", "0002_triggers_and_storage"),
        ("loyalty", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(LEDGER_IS_APPEND_ONLY, migrations.RunSQL.noop),
        migrations.RunSQL(BRAND_OF_ENTRY, migrations.RunSQL.noop),
        migrations.RunSQL(ROOM_FOR_UPDATES, migrations.RunSQL.noop),
        migrations.RunSQL(POINTS_ABOVE_CEILING, migrations.RunSQL.noop),
        migrations.RunSQL(CUSTOMER_WORDS, migrations.RunSQL.noop),
        migrations.RunSQL(LISTED_MEMBERS, migrations.RunSQL.noop),
    ]
