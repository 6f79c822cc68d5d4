"""Packages of Apple passes: the signature is verified by openssl, and the content of every file."""

import hashlib
import io
import json
import subprocess
import zipfile
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone
from PIL import Image

from brands.audit_log import AuditContext
from brands.tenants import pictures
from loyalty.members import numbers
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletPass
from loyalty.rewards import cancellation
from loyalty.wallets import cards, passes, renders
from loyalty.wallets.google import objects
from tests.support import factories
from tests.support.fakes import wallets


@pytest.fixture
def package(brand, account):
    """Issues a pass and returns the files of its package by name."""

    def issue():
        wallets.apple(brand)
        issued, _new = passes.issue(account=account, platform="apple", at=timezone.now())
        wallet_pass = WalletPass.objects.filter(pk=issued.pk).get()
        content = renders.apple_package(wallet_pass=wallet_pass, at=timezone.now())
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert archive.testzip() is None
            return {name: archive.read(name) for name in archive.namelist()}

    return issue


def verify_signature(files, tmp_path, manifest=None):
    """Run openssl to verify the signature."""
    (tmp_path / "signature").write_bytes(files["signature"])
    (tmp_path / "manifest.json").write_bytes(manifest or files["manifest.json"])
    options = ["-inform", "DER", "-in", "signature", "-content", "manifest.json", "-binary", "-purpose", "any"]
    command = ["openssl", "smime", "-verify", *options, "-CAfile", wallets.root_file(), "-out", "verified"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_signature_is_valid_and_has_a_signing_time(package, tmp_path):
    files = package()

    assert "Verification successful" in verify_signature(files, tmp_path).stderr
    command = ["openssl", "cms", "-cmsout", "-print", "-inform", "DER", "-in", "signature"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "signingTime" in printed
    assert "WWDR of the tests" in printed


def test_signature_is_invalid_for_a_changed_manifest(package, tmp_path):
    files = package()

    changed = files["manifest.json"].replace(b"pass.json", b"past.json")

    assert "Verification failure" in verify_signature(files, tmp_path, changed).stderr


def test_manifest_has_the_digest_of_every_other_file(package):
    files = package()

    digests = json.loads(files["manifest.json"])

    assert set(digests) == set(files) - {"manifest.json", "signature"}
    assert all(
        hashlib.sha1(files[name], usedforsecurity=False).hexdigest() == digest for name, digest in digests.items()
    )


def test_card_contains_balance_level_and_progress(package, brand, account):
    factories.level(brand, "Silver", 100)
    UserPoints.objects.filter(pk=account.pk).update(points=25, points_earned=25)

    pass_data = json.loads(package()["pass.json"])
    card = pass_data["storeCard"]

    assert (pass_data["passTypeIdentifier"], pass_data["teamIdentifier"]) == (wallets.PASS_TYPE, wallets.TEAM)
    assert pass_data["organizationName"] == brand.name
    assert card["headerFields"][0]["value"] == 25
    assert [field["value"] for field in card["secondaryFields"]] == ["Bronze", "75 points to Silver"]
    assert pass_data["webServiceURL"] == f"http://{brand.hostnames.get().hostname}/wallets/apple"
    assert pass_data["authenticationToken"] == WalletPass.objects.get().token
    assert numbers.read(pass_data["barcodes"][0]["message"]) == account.pk


@pytest.mark.parametrize(("points", "unit"), [(1, "point"), (2, "points"), ("1.5", "points"), (0, "points")])
def test_card_uses_the_singular_for_one_point(package, brand, account, points, unit):
    factories.level(brand, "Silver", Decimal(str(points)) + 1)
    UserPoints.objects.filter(pk=account.pk).update(points=Decimal(str(points)), points_earned=Decimal(str(points)))

    card = json.loads(package()["pass.json"])["storeCard"]

    assert card["headerFields"][0]["changeMessage"] == f"You now have %@ {unit}."
    assert card["secondaryFields"][1]["value"] == "1 point to Silver"


def test_returned_points_do_not_count_for_the_next_level(package, brand, customer, account):
    factories.level(brand, "Silver", 100)
    factories.points(customer, brand, 60)
    audit_context = AuditContext(factories.user(is_staff=True), timezone.now(), "", "A mistake")
    cancellation.cancel(
        redemption=factories.redemption(customer, factories.reward(brand, cost=60)), audit_context=audit_context
    )

    card = json.loads(package()["pass.json"])["storeCard"]

    assert card["headerFields"][0]["value"] == 60
    assert card["secondaryFields"][1]["value"] == "40 points to Silver"


def test_balance_may_have_decimals(package, account):
    UserPoints.objects.filter(pk=account.pk).update(points=Decimal("2.50"), points_earned=Decimal("2.50"))

    assert json.loads(package()["pass.json"])["storeCard"]["headerFields"][0]["value"] == 2.5


def test_card_has_the_brands_colours_and_logo(package, brand):
    content = io.BytesIO()
    Image.new("RGB", (200, 100), "#ff0000").save(content, "PNG")
    brand.logo = pictures.store(brand=brand, encoded=pictures.logo(content.getvalue()))
    brand.colour_background, brand.colour_text, brand.colour_accent = "#102030", "#ffffff", "#ffcc00"
    brand.save()

    files = package()

    pass_data = json.loads(files["pass.json"])
    assert (pass_data["backgroundColor"], pass_data["labelColor"]) == ("rgb(16, 32, 48)", "rgb(255, 204, 0)")
    icon = Image.open(io.BytesIO(files["icon@2x.png"])).convert("RGB")
    assert (icon.size, icon.getpixel((29, 29)), icon.getpixel((0, 0))) == ((58, 58), (255, 0, 0), (16, 32, 48))


@pytest.mark.parametrize("name", ["Alpine", "Ünique", "東京"])
def test_package_of_a_brand_without_a_logo_has_generated_images(package, brand, name):
    brand.name = name
    brand.save()

    files = package()

    sizes = {name: Image.open(io.BytesIO(content)).size for name, content in files.items() if name.endswith(".png")}
    assert sizes == {
        "icon.png": (29, 29),
        "icon@2x.png": (58, 58),
        "icon@3x.png": (87, 87),
        "logo.png": (50, 50),
        "logo@2x.png": (100, 100),
        "logo@3x.png": (150, 150),
    }
    assert len(Image.open(io.BytesIO(files["icon.png"])).convert("RGB").getcolors()) > 1


def test_pass_of_a_blocked_member_is_void(package, account):
    UserPoints.objects.filter(pk=account.pk).update(status="blocked")

    assert json.loads(package()["pass.json"])["voided"] is True


def test_token_is_encrypted_in_the_database(package):
    package()

    with connection.cursor() as cursor:
        cursor.execute("SELECT token FROM loyalty_walletpass")
        assert WalletPass.objects.get().token not in cursor.fetchone()[0]


@pytest.mark.parametrize("text", ["", "0000000001", "0000000001.forged", "x", "٣.a", "a" * 5000])
def test_forged_barcode_is_not_accepted(text):
    assert numbers.read(text) is None


def test_pass_of_a_sandbox_is_marked(db):
    brand = factories.brand(name="Olive", is_sandbox=True)
    wallets.apple(brand)
    account = factories.account(factories.customer(brand), brand)
    issued, _new = passes.issue(account=account, platform="apple", at=timezone.now())

    content = renders.apple_package(wallet_pass=issued, at=timezone.now())

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        pass_data = json.loads(archive.read("pass.json"))
    assert (pass_data["organizationName"], pass_data["logoText"]) == ("Sandbox: Olive", "Sandbox: Olive")


def test_google_class_of_a_sandbox_is_marked(db):
    brand = factories.brand(name="Olive", is_sandbox=True)

    class_data = objects.loyalty_class(cards.design_of(brand), "3388000000000000001")

    assert (class_data["issuerName"], class_data["programName"]) == ("Sandbox: Olive", "Sandbox: Olive")
