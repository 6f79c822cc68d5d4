"""Uploaded keys and certificates: read by a separate program, and converted to one form.

A file of a kilobyte can contain a key that takes minutes to read, while all other threads of its process wait. So a
web process never loads a key that this module has not checked. The result is unencrypted, RSA with 2048 to 4096 bits
or P-256: nothing larger can be stored, and using a stored key takes negligible time.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from django.utils.translation import gettext as _

from core.errors import Invalid
from core.uploads import key_reading
from core.uploads.bounded_program import BoundedProgram

READ_SECONDS = 15  # for the program; it stops itself after key_reading.CPU_SECONDS of work
program = BoundedProgram(key_reading, seconds=READ_SECONDS)


@dataclass(frozen=True, slots=True)
class KeyFile:
    """An upload in PEM, DER or PKCS #12: the form's `field`, and the message if it cannot be read."""

    field: str
    holds: Literal["key", "certificate", "pkcs12"]
    content: bytes
    unreadable: str
    password: str = ""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The content of a file as PEM; a PKCS #12 file may lack either part."""

    key: str = ""
    certificate: str = ""


def read(files: Sequence[KeyFile]) -> dict[str, ReadFile]:
    """The content of the files, by their fields.

    Raises Invalid, whose `details` name the field of the first unfit file, and Unavailable.
    """
    content = [
        {"holds": file.holds, "content": base64.b64encode(file.content).decode(), "password": file.password}
        for file in files
    ]
    busy = _("Other keys are being read. Try again in a moment.")
    *lines, _unfinished = program.run(content=json.dumps(content).encode(), busy=busy).split(b"\n")
    result = {}
    for number, file in enumerate(files):
        outcome = json.loads(lines[number]) if number < len(lines) else {"unfit": "unusual"}  # the program was stopped
        if "unfit" in outcome:
            message = _unusual() if outcome["unfit"] == "unusual" else file.unreadable
            raise Invalid(message, details={"field": file.field})
        result[file.field] = ReadFile(**outcome)
    return result


def load(pem: str) -> Any:
    """Load a private key that `read` checked at upload; checking it again would take far longer."""
    return load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)


def _unusual() -> str:
    return _(
        "This key is of an unusual kind or size, or takes too long to read. Export it again with usual settings: "
        "RSA with %(least)d to %(most)d bits or P-256, and at most 1,000,000 iterations for the password."
    ) % {"least": key_reading.MIN_RSA_BITS, "most": key_reading.MAX_RSA_BITS}
