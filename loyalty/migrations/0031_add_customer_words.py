"""Words of customers' addresses and names are written by triggers: users and accounts are changed in many places.

Adding an account locks its user against a change of the key (FOR KEY SHARE, as the foreign key does at commit); a change
of address or name locks out both. So whoever is later sees what the other has done, and no word outlives a name.
A brand finds a customer by the name that it calls them, which its staff may have corrected.
"""

from django.db import migrations

INSTALL = r"""
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
        IF NOT EXISTS (SELECT FROM brands_customerword WHERE user_id = NEW.user_id AND brand_id = NEW.brand_id) THEN
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
FILL = """
SET LOCAL statement_timeout = 0;
INSERT INTO brands_customerword (brand_id, user_id, word)
SELECT b.id, u.id, w.word
  FROM brands_user u
 CROSS JOIN LATERAL (SELECT u.registered_brand_id AS id WHERE u.registered_brand_id IS NOT NULL
                      UNION SELECT brand_id FROM user_points WHERE user_id = u.id) b
  LEFT JOIN user_points p ON p.brand_id = b.id AND p.user_id = u.id
 CROSS JOIN LATERAL customer_words(concat_ws(' ', u.email, coalesce(p.first_name, u.first_name),
                                        coalesce(p.last_name, u.last_name))) AS w (word)
    ON CONFLICT DO NOTHING
"""
REMOVE = """
DROP TRIGGER words_of_account ON user_points;
DROP TRIGGER words_of_new_account ON user_points;
DROP TRIGGER words_of_user ON brands_user;
DROP TRIGGER words_of_new_user ON brands_user;
DROP FUNCTION write_words_of_account();
DROP FUNCTION write_words_of_user();
DROP FUNCTION customer_words(text);
"""


class Migration(migrations.Migration):
    dependencies = [("brands", "0018_add_customer_words"), ("loyalty", "0030_correct_members_and_record_consents")]

    operations = [migrations.RunSQL(INSTALL, REMOVE), migrations.RunSQL(FILL, migrations.RunSQL.noop)]
