"""The digest of a file covers all of it, wherever its position was before."""

import hashlib
import io

import pytest
from django.core.files import File

from jobs import files


@pytest.mark.parametrize("content", [b"", b"a", b"abc" * files.CHUNK])
def test_digest_covers_the_whole_file_and_rewinds_it(content: bytes) -> None:
    for file in (io.BytesIO(content), File(io.BytesIO(content), name="a.csv")):
        file.seek(len(content))

        assert files.digest(file) == (hashlib.sha256(content).hexdigest(), len(content))
        assert file.read() == content
