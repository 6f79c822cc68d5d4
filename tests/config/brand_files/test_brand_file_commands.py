"""The commands for brand files: exit codes, confirmation, and sandboxes created from a file."""

import builtins
import io

import pytest
from django.core.management import CommandError, call_command

from brands.models.audit import AuditLogEntry
from brands.models.tenants import Brand
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import NotificationSettings
from loyalty.models.webhooks import WebhookEndpoint
from tests.support import factories

pytestmark = pytest.mark.django_db
LEVEL = "format: 1\nlevels:\n  - name: Gold\n    threshold: 100\n"
SANDBOX = f"{LEVEL}brand: {{support_email: help@example.com, colour_accent: '#9c2c5c'}}\n"
HOOK = "webhooks:\n  - {url: 'https://hooks.example.com/a', types: [points.earned]}\n"


@pytest.fixture
def brand(db):
    return factories.brand()


@pytest.fixture
def write_file(tmp_path):
    def write(content):
        path = tmp_path / "brand.yaml"
        path.write_text(content)
        return str(path)

    return write


def run(*arguments, **options):
    out = io.StringIO()
    try:
        call_command(*arguments, stdout=out, **options)
    except SystemExit as exit_error:
        return exit_error.code, out.getvalue()
    return 0, out.getvalue()


def answer_prompt_with(monkeypatch, answer):
    monkeypatch.setattr(builtins, "input", lambda _question: answer)


def levels(brand):
    return BrandLevel.objects.filter(brand=brand).count()


def test_plan_exits_with_2_if_there_are_changes(brand, write_file):
    assert run("brand_plan", brand.slug, write_file(LEVEL)) == (2, "create     levels “Gold”\n1 changes.\n")
    assert levels(brand) == 0


def test_plan_exits_with_0_if_there_are_no_changes(brand, write_file):
    run("brand_apply", brand.slug, write_file(LEVEL), yes=True)

    assert run("brand_plan", brand.slug, write_file(LEVEL)) == (0, "No changes.\n")
    output = "left alone levels “Gold”\nNo changes.\n"
    assert run("brand_plan", brand.slug, write_file("format: 1\nlevels: []\n")) == (0, output)
    assert run("brand_plan", brand.slug, write_file("format: 1\nlevels: []\n"), prune=True)[0] == 2


def test_invalid_file_is_an_error_with_the_position(brand, write_file):
    with pytest.raises(CommandError, match=r"(?s)^levels\[0\].threshold \(line 4\): Enter .*Nothing was changed.$"):
        run("brand_plan", brand.slug, write_file(LEVEL.replace("100", "x")))


def test_unknown_brand_or_file_is_an_error(brand, write_file):
    with pytest.raises(CommandError, match="There is no brand nobody"):
        run("brand_plan", "nobody", write_file(LEVEL))
    with pytest.raises(CommandError, match="No such file"):
        run("brand_plan", brand.slug, "/nowhere.yaml")


@pytest.mark.parametrize(("answer", "expected"), [("y", 1), ("", 0), ("no", 0)])
def test_apply_changes_the_brand_only_after_confirmation(brand, write_file, monkeypatch, answer, expected):
    answer_prompt_with(monkeypatch, answer)

    if expected:
        assert run("brand_apply", brand.slug, write_file(LEVEL)) == (
            0,
            "create     levels “Gold”\n1 changes.\nApplied.\n",
        )
        assert AuditLogEntry.objects.get(brand=brand).reason == "Command line: manage.py brand_apply"
    else:
        with pytest.raises(CommandError, match="Nothing was changed"):
            run("brand_apply", brand.slug, write_file(LEVEL))

    assert levels(brand) == expected


def test_sandbox_has_the_configuration_of_the_file_with_webhooks_disabled(write_file):
    run("brand_sandbox", "try", write_file(SANDBOX + HOOK), name="Try it")

    brand = Brand.objects.get(slug="try")
    assert (brand.is_sandbox, brand.name, brand.colour_accent) == (True, "Try it", "#9c2c5c")
    assert levels(brand) == 1
    assert WebhookEndpoint.objects.get(brand=brand).state == "disabled"
    assert NotificationSettings.objects.filter(brand=brand).exists()
    assert "brands.brand" in AuditLogEntry.objects.filter(brand=brand).values_list("kind", flat=True)


@pytest.mark.parametrize(
    ("slug", "content", "problem"),
    [
        ("not a slug", SANDBOX, "slug: Enter a valid"),
        ("try", LEVEL, "brand.support_email: This field is required."),
        ("try", SANDBOX.replace("100", "x"), r"levels\[0\].threshold \(line 4\)"),
    ],
)
def test_sandbox_is_not_created_if_anything_is_invalid(write_file, slug, content, problem):
    before = Brand.objects.count()

    with pytest.raises(CommandError, match=problem):
        run("brand_sandbox", slug, write_file(content))

    assert Brand.objects.count() == before


def test_sandbox_cannot_have_the_slug_of_another_brand(brand, write_file):
    with pytest.raises(CommandError, match=r"slug: .*already exists"):
        run("brand_sandbox", brand.slug, write_file(SANDBOX))

    brand.refresh_from_db()
    assert not brand.is_sandbox


@pytest.mark.django_db(transaction=True)
def test_sandbox_is_created_from_the_export_of_a_live_brand(write_file):
    live = factories.brand()
    factories.level(live, "Gold", 100)
    exported = run("brand_export", live.slug)[1]

    run("brand_sandbox", "try", write_file(exported))

    assert levels(Brand.objects.get(slug="try")) == 1
    assert not Brand.objects.get(pk=live.pk).is_sandbox


def test_apply_changes_nothing_if_the_brand_changed_since_the_plan(brand, write_file, monkeypatch):
    def change_brand_and_confirm(_question):
        BrandLevel.objects.create(brand=brand, name="Silver", threshold=50)
        return "y"

    monkeypatch.setattr(builtins, "input", change_brand_and_confirm)

    with pytest.raises(CommandError, match="somebody changed it since"):
        run("brand_apply", brand.slug, write_file(LEVEL), prune=True)
    assert list(BrandLevel.objects.filter(brand=brand).values_list("name", flat=True)) == ["Silver"]
