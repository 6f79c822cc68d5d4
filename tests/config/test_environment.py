"""Settings from the environment: typed, read from files, and named in the error when they are invalid."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import environment as env

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "bin"))

from embedded import datadir  # noqa: E402

SECRET = "s" * 50


def test_unset_or_empty_variable_has_its_default(monkeypatch):
    monkeypatch.setenv("EMPTY", "")

    assert (env.text("EMPTY", "x"), env.integer("UNSET_ONE", 7), env.flag("EMPTY", default=True)) == ("x", 7, True)


@pytest.mark.parametrize(("raw", "value"), [("1", True), ("yes", True), ("TRUE", True), ("0", False), ("off", False)])
def test_flags_are_parsed_in_common_spellings(monkeypatch, raw, value):
    monkeypatch.setenv("FLAG", raw)

    assert env.flag("FLAG", default=not value) is value


@pytest.mark.parametrize(
    ("read", "raw"),
    [
        (lambda: env.integer("BAD", 1), "ten"),
        (lambda: env.integer("BAD", 1, minimum=5), "4"),
        (lambda: env.flag("BAD", default=True), "maybe"),
        (lambda: env.versioned_secrets("BAD"), "nonsense"),
        (lambda: env.versioned_secrets("BAD"), "1:short"),
        (lambda: env.versioned_secrets("BAD"), f"first:{SECRET}"),
        (lambda: env.versioned_secrets("BAD"), f"1:{SECRET},1:another {SECRET}"),
        (lambda: env.secret("BAD"), "short"),
        (lambda: env.database("BAD", embedded=Path("/x"), options={}), "mysql://localhost/x"),
        (lambda: env.database("BAD", embedded=Path("/x"), options={}), "postgres://u:p@[host/x"),
        (lambda: env.mail("BAD", "consolemail://"), "smtp://mail.example.com:smtp"),
    ],
)
def test_invalid_value_raises_an_error_that_names_the_variable(monkeypatch, read, raw):
    monkeypatch.setenv("BAD", raw)

    with pytest.raises(ImproperlyConfigured, match="BAD"):
        read()


def test_variable_changes_some_of_several_defaults(monkeypatch):
    monkeypatch.setenv("RATES", "scan=9/day, read = 8/hour,")

    assert env.changed("RATES", {"scan": "1/day", "read": "2/day", "login": "3/day"}, env.rate) == {
        "scan": "9/day",
        "read": "8/hour",
        "login": "3/day",
    }
    assert env.changed("UNSET_ONE", {"codes": 1}, env.at_least(0)) == {"codes": 1}


def test_database_url_names_a_host_or_a_socket(monkeypatch):
    monkeypatch.setenv("DB", "postgres://me:p%40ss@db.example.com:5433/shop?sslmode=require")
    network = env.database("DB", embedded=Path("/x"), options={"application_name": "loyalty"})
    monkeypatch.setenv("DB", "postgres://me@/shop?host=/run/pg")
    socket = env.database("DB", embedded=Path("/x"), options={})

    assert (network["HOST"], network["PORT"], network["NAME"]) == ("db.example.com", 5433, "shop")
    assert (network["USER"], network["PASSWORD"]) == ("me", "p@ss")
    assert network["OPTIONS"] == {"application_name": "loyalty", "sslmode": "require"}
    assert (socket["HOST"], socket["NAME"], socket["USER"]) == ("/run/pg", "shop", "me")


def test_database_url_may_name_several_hosts(monkeypatch):
    monkeypatch.setenv("DB", "postgres://me@one:5432,two:5433/shop")
    several = env.database("DB", embedded=Path("/x"), options={})

    assert (several["HOST"], several["PORT"]) == ("one,two", "5432,5433")


def test_redis_socket_url_is_converted_for_celery():
    assert env.celery_broker("unix:///run/v.sock?db=3") == "redis+socket:///run/v.sock?virtual_host=3"
    assert env.celery_broker("redis://cache:6379/1") == "redis://cache:6379/1"


PRODUCTION = {
    "SECRET_KEY": SECRET,
    "DATABASE_URL": "postgres://u:p@127.0.0.1:5432/x",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
    "ALLOWED_HOSTS": "shop.example.com",
}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY"),
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS"),
        ({"TRUSTED_PROXIES": "many"}, "TRUSTED_PROXIES"),
        ({"RATE_LIMITS": "scan=often"}, "RATE_LIMITS"),
        ({"RATE_LIMITS": "scans=9/day"}, "RATE_LIMITS has a bad value: 'scans' is none of brand, "),
        ({"QUOTAS": "codes=-1"}, "QUOTAS has a bad value: -1 is below 0"),
        ({"EMAIL_URL": "mail.example.com"}, "EMAIL_URL"),
        (
            {"ALLOWED_HOSTS": "https://shop.example.com"},
            "ALLOWED_HOSTS has a bad value: 'https://shop.example.com' is not a",
        ),
        ({"ALLOWED_HOSTS": "shop.example.com:8443"}, "ALLOWED_HOSTS has a bad value: 'shop.example.com:8443' is not a"),
        (
            {"CSRF_TRUSTED_ORIGINS": "shop.example.com"},
            "CSRF_TRUSTED_ORIGINS has a bad value: 'shop.example.com' is not",
        ),
        ({"REDIS_URL": "cache:6379"}, "REDIS_URL has a bad value: it must begin with redis://"),
        ({"LOG_LEVEL": "LOUD"}, "LOG_LEVEL has a bad value: 'LOUD' is not a level"),
        ({"OUTGOING_PRIVATE_NETWORKS": "10.1.0.0/16,here"}, "OUTGOING_PRIVATE_NETWORKS"),
        ({"JWT_EXTERNAL_JWKS_URL": "https://id.example.com/keys"}, "JWT_EXTERNAL_ISSUER"),
        ({"SQS_BRANDS": "12,acme"}, "SQS_BRANDS has a bad value: 'acme' is not a brand id"),
        ({"DATABASE_URL": ""}, "DATABASE_URL or SECRET_KEY is missing, but ALLOWED_HOSTS names shop.example.com"),
        ({"DATABASE_URL": "", "ALLOWED_HOSTS": "localhost,10.0.0.5"}, "ALLOWED_HOSTS names 10.0.0.5"),
    ],
)
def test_service_does_not_start_with_an_invalid_setting(change, named, tmp_path):
    settings = {**PRODUCTION, **change, "DATA_DIR": str(tmp_path), "PATH": os.environ["PATH"]}

    result = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=settings, capture_output=True, text=True, check=False
    )

    assert result.returncode != 0
    assert named in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("change", "https"),
    [
        ({}, True),
        ({"HTTPS": "0"}, False),
        ({"DATABASE_URL": "", "HTTPS": "1"}, True),
        ({"DATABASE_URL": "", "HTTPS": "0"}, False),  # as bin/run starts, whatever hosts are allowed
        ({"DATABASE_URL": "", "ALLOWED_HOSTS": "localhost,.localhost,127.0.0.1,[::1]"}, False),
    ],
)
def test_https_is_off_only_on_localhost_or_when_switched_off(change, https, tmp_path):
    settings = {**PRODUCTION, **change, "DATA_DIR": str(tmp_path), "PATH": os.environ["PATH"]}
    program = "from config import settings; print(settings.SECURE_SSL_REDIRECT)"

    output = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=settings, capture_output=True, text=True, check=True
    ).stdout

    assert output.strip() == str(https)


@pytest.mark.parametrize(
    ("url", "checked"), [("rediss://cache:6379/0", True), ("rediss://cache:6379/0?ssl_cert_reqs=none", False)]
)
def test_certificate_of_the_broker_is_checked(url, checked, tmp_path):
    settings = {**PRODUCTION, "REDIS_URL": url, "DATA_DIR": str(tmp_path), "PATH": os.environ["PATH"]}
    program = "from config.celery import app; print(app.connection_for_write().ssl['ssl_cert_reqs'].name)"

    output = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=settings, capture_output=True, text=True, check=True
    ).stdout

    assert output.strip() == ("CERT_REQUIRED" if checked else "CERT_NONE")


def test_lower_case_name_of_a_log_level_is_accepted(monkeypatch):
    monkeypatch.setenv("LEVEL", "warning")

    assert env.value("LEVEL", "INFO", env.log_level) == "WARNING"


def test_lock_timeout_applies_to_the_web_only(tmp_path):
    program = "from django.conf import settings; print(settings.DATABASES['default']['OPTIONS']['options'])"
    settings = {**PRODUCTION, "DATA_DIR": str(tmp_path), "PATH": os.environ["PATH"]}
    settings |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_SETTINGS": '{"WEB_LOCK_TIMEOUT_MS": 700}'}

    options = [
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=settings, capture_output=True, text=True, check=True)
        for code in (f"import config.wsgi; {program}", program)
    ]

    assert ["-c lock_timeout=700" in each.stdout for each in options] == [True, False]


def read_by_settings():
    """The environment variables that config/settings.py reads."""
    tree = ast.parse((ROOT / "config" / "settings.py").read_text())
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("env.")
        if node.args and isinstance(node.args[0], ast.Constant) and str(node.args[0].value).isupper()
    }


def variables_in_readme():
    """The variables in the first column of the README's table."""
    rows = re.findall(r"^\| (`[A-Z].*?) \|", (ROOT / "README.md").read_text(), re.M)
    return {name for row in rows for name in re.findall(r"`([A-Z0-9_]+)`", row)}


def test_readme_explains_exactly_the_variables_that_are_read():
    variables_of_bin_run = {"PORT", "HOST", "DEMO"}

    assert variables_in_readme() == read_by_settings() | variables_of_bin_run


def limits_in(column):
    """The limits in the table of docs/operations/configure.md with this first column, with their defaults."""
    page = (ROOT / "docs" / "operations" / "configure.md").read_text()
    [table] = re.findall(rf"^\| {column} \|.*\n((?:\|.*\n)+)", page, re.M)
    rows = [row.split(" | ") for row in table.splitlines()[1:]]
    default_by_name = {}
    for first, second, _ in rows:
        names, defaults = re.findall(r"`(\w+)`", first), second.split(", ")
        default_by_name |= dict(zip(names, defaults * len(names) if len(defaults) == 1 else defaults, strict=True))
    return default_by_name


def test_documentation_lists_every_limit_with_its_default():
    shipped = "from config import settings; import json; print(json.dumps([settings.RATE_LIMITS, settings.QUOTAS]))"
    result = subprocess.run([sys.executable, "-c", shipped], cwd=ROOT, env=PRODUCTION, capture_output=True, check=True)
    rates, quotas = json.loads(result.stdout)

    assert limits_in("limit") == rates
    assert limits_in("quota") == {name: str(quota) for name, quota in quotas.items()}


def manage(command, **environment):
    """Run manage.py with only these variables; return its exit code and its error output."""
    variables = {**environment, "PATH": os.environ["PATH"]}
    result = subprocess.run(
        [sys.executable, "manage.py", command], cwd=ROOT, env=variables, capture_output=True, text=True, check=False
    )
    return result.returncode, result.stderr


def test_manage_reports_missing_data_of_bin_run_in_one_line(tmp_path):
    code, error_output = manage("demo", DATA_DIR=str(tmp_path))

    assert code == 1
    assert re.fullmatch(
        r"manage\.py: SECRET_KEY is missing: .* start bin/run first, or set DATA_DIR to .*\n", error_output
    )


def test_manage_reports_a_stopped_bin_run_in_one_line(tmp_path):
    (tmp_path / "secret_key").write_text(SECRET)

    code, error_output = manage("demo", DATA_DIR=str(tmp_path))

    assert code == 1
    assert re.fullmatch(r"manage\.py: the database does not answer \(start bin/run.*\n", error_output)


@pytest.fixture
def project_and_data(tmp_path, monkeypatch):
    """A project, and a data folder of bin/run outside it."""
    for name in ("DATA_DIR", "SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    project, data = tmp_path / "project", tmp_path / "data"
    project.mkdir()
    data.mkdir()
    (data / "secret_key").write_text(SECRET)
    return project, data


def test_data_folder_of_a_running_bin_run_is_found(project_and_data):
    project, data = project_and_data

    with datadir.noted_for_manage(data, project):
        data_dir = env.data_dir("DATA_DIR", project=project)

    assert (data_dir, env.data_dir("DATA_DIR", project=project)) == (data, project / "var")
    assert not list(project.iterdir())


def test_variables_and_the_usual_data_folder_take_precedence(project_and_data, monkeypatch):
    project, data = project_and_data
    with datadir.noted_for_manage(data, project):
        with monkeypatch.context() as patch:
            patch.setenv("SECRET_KEY", SECRET)
            assert env.data_dir("DATA_DIR", project=project) == project / "var"
            patch.setenv("DATA_DIR", "/srv/x")
            assert env.data_dir("DATA_DIR", project=project) == Path("/srv/x")
        (project / "var/run").mkdir(parents=True)
        (project / "var/run/.s.PGSQL.5432").touch()
        assert env.data_dir("DATA_DIR", project=project) == project / "var"


def test_pointer_file_of_another_bin_run_is_retained(project_and_data):
    project, data = project_and_data

    with datadir.noted_for_manage(data.parent / "first", project):
        with datadir.noted_for_manage(data, project):
            pass
        assert env.data_dir("DATA_DIR", project=project) == project / "var"
    with datadir.noted_for_manage(data.parent / "first", project):
        (project / ".data_dir").write_text(f"{data}\n")

    assert env.data_dir("DATA_DIR", project=project) == data
