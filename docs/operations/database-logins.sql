-- Creates the logins of compose.yaml when the database is new. Run it again after changing a password or an address:
--   docker compose exec postgres psql -U postgres -d loyalty -f /docker-entrypoint-initdb.d/database-logins.sql
--
-- Only this script works as a superuser. The owner migrates. Web and workers may take on the application's role and the
-- tenants' role, own nothing and bypass nothing. Names and passwords are in the addresses under /run/secrets.
DO $$
DECLARE
    address text;
    login text[];
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['loyalty_app', 'loyalty_tenant'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I', role);
        END IF;
        EXECUTE format('ALTER ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB', role);
    END LOOP;

    FOREACH address IN ARRAY ARRAY['database_owner_url', 'database_web_url', 'database_worker_url'] LOOP
        login := regexp_match(pg_read_file('/run/secrets/' || address), '^postgres(?:ql)?://([a-z_]+):([A-Za-z0-9_-]+)@');
        IF login IS NULL THEN
            RAISE '% has to begin with postgres://name:password@ (letters, digits, - and _)', address;
        END IF;
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login[1]) THEN
            EXECUTE format('CREATE ROLE %I', login[1]);
        END IF;
        EXECUTE format(
            'ALTER ROLE %I LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB PASSWORD %L', login[1], login[2]
        );
        IF address = 'database_owner_url' THEN
            EXECUTE format('ALTER DATABASE %I OWNER TO %I', current_database(), login[1]);
        ELSE
            EXECUTE format('GRANT loyalty_app, loyalty_tenant TO %I', login[1]);
        END IF;
    END LOOP;
    -- No other login may even connect.
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO loyalty_app, loyalty_tenant', current_database());
END
$$;
