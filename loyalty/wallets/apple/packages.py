"""Packages: a member's card as a signed .pkpass file for Apple Wallet."""

import hashlib
import io
import json
import zipfile
from functools import lru_cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core import colours
from core.json_values import json_number
from core.uploads import keys as uploaded_keys
from loyalty.models.wallets import WalletPass
from loyalty.wallets import images
from loyalty.wallets.apple.certificates import AppleKeys
from loyalty.wallets.cards import Card, plural

CONTENT_TYPE = "application/vnd.apple.pkpass"
WEB_SERVICE = "/wallets/apple"  # Apple adds /v1/...
# Uncompressed, because everything in a package is small or already compressed.
STORED = zipfile.ZIP_STORED
EPOCH = (1980, 1, 1, 0, 0, 0)


def package(*, wallet_pass: WalletPass, card: Card, keys: AppleKeys) -> bytes:
    """The whole file. Reads the database only for the brand's logo, the first time for a design."""
    with translation.override(card.language):
        content_of_pass = pass_json(wallet_pass, card, keys)
    pass_content = json.dumps(content_of_pass, ensure_ascii=False, separators=(",", ":")).encode()
    shared = images.apple_files(card.design)
    digests = {file.name: file.sha1 for file in shared}
    digests["pass.json"] = hashlib.sha1(pass_content, usedforsecurity=False).hexdigest()  # Apple requires SHA-1 here
    manifest = json.dumps(digests).encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", STORED) as archive:
        for name, data in (
            ("pass.json", pass_content),
            ("manifest.json", manifest),
            ("signature", signature(manifest, keys)),
        ):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data)
        for file in shared:
            archive.writestr(zipfile.ZipInfo(file.name, EPOCH), file.content)
    return content.getvalue()


def signature(manifest: bytes, keys: AppleKeys) -> bytes:
    """Detached PKCS #7 in DER, with the signing time and the issuer's certificate."""
    certificate, authority, key = signer(keys.certificates, keys.private_key)
    builder = pkcs7.PKCS7SignatureBuilder().set_data(manifest).add_signer(certificate, key, SHA256())
    options = [pkcs7.PKCS7Options.DetachedSignature, pkcs7.PKCS7Options.Binary]
    return builder.add_certificate(authority).sign(Encoding.DER, options)


@lru_cache(maxsize=64)
def signer(certificates: str, private_key: str) -> tuple[x509.Certificate, x509.Certificate, RSAPrivateKey]:
    """The certificates and the key. Uploads of unusual size are rejected, so loading them does not take long."""
    certificate, authority = x509.load_pem_x509_certificates(certificates.encode())
    key = uploaded_keys.load(private_key)
    assert isinstance(key, RSAPrivateKey)  # noqa: S101 - the upload was parsed as one
    return certificate, authority, key


def pass_json(wallet_pass: WalletPass, card: Card, keys: AppleKeys) -> dict[str, Any]:
    """Apple's pass.json, a store card."""
    design = card.design
    pass_content = {
        "formatVersion": 1,
        "passTypeIdentifier": keys.identifier,
        "teamIdentifier": keys.team,
        "serialNumber": str(wallet_pass.serial),
        "organizationName": design.name,
        "description": _("%(brand)s loyalty card") % {"brand": design.name},
        "logoText": design.name,
        "backgroundColor": rgb(design.background),
        "foregroundColor": rgb(design.text),
        "labelColor": rgb(label_colour(card)),
        "sharingProhibited": True,
        "barcodes": [
            {
                "format": "PKBarcodeFormatQR",
                "message": card.barcode,
                "messageEncoding": "iso-8859-1",
                "altText": card.number,
            }
        ],
        "storeCard": fields(card),
    }
    if design.address:
        pass_content |= {"webServiceURL": f"{design.address}{WEB_SERVICE}", "authenticationToken": wallet_pass.token}
    return pass_content | ({"voided": True} if card.voided else {})


def fields(card: Card) -> dict[str, Any]:
    """The front has the balance, level, points to the next level, and member. The back has the contact."""
    points = {"key": "points", "label": _("POINTS"), "value": card.balance}
    level = {"key": "level", "label": _("LEVEL"), "value": card.level_name(card.language)}
    member = {"key": "member", "label": _("MEMBER"), "value": card.member}
    pending = [{"key": "pending", "label": _("PENDING"), "value": json_number(card.pending)}] if card.pending else []
    until = card.level_until_text(card.language)
    until_field = [{"key": "until", "label": _("LEVEL UNTIL"), "value": until}] if until else []
    return {
        "headerFields": [{**points, "changeMessage": balance_message(card)}],
        "primaryFields": [],
        "secondaryFields": [
            *([{**level, "changeMessage": _("Your level is now %@.")}] if card.level else []),
            *(
                [{"key": "progress", "label": _("NEXT LEVEL"), "value": card.progress(card.language)}]
                if card.level
                else []
            ),
        ],
        "auxiliaryFields": [*([member] if card.member else []), *until_field, *pending],
        "backFields": [
            {"key": "number", "label": _("Member number"), "value": card.number},
            {"key": "support", "label": _("Questions?"), "value": card.design.support_email},
        ],
    }


def balance_message(card: Card) -> str:
    """The text on the phone when the balance changes. Apple replaces %@ with the balance."""
    return ngettext("You now have %@ point.", "You now have %@ points.", plural(card.points))


def label_colour(card: Card) -> str:
    """The accent colour if labels are readable in it."""
    design = card.design
    readable = colours.contrast(design.accent, design.background) >= colours.READABLE
    return design.accent if readable else design.text


def rgb(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"
