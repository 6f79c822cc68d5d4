"""What a file's digest is of: all of it, wherever it was read before."""

import hashlib
import io

import pytest
from django.core.files import File

from jobs import files


@pytest.mark.parametrize("content", [b"", b"a", b"abc" * files.CHUNK])
def test_a_digest_is_of_the_whole_file_which_is_at_its_beginning_afterwards(content: bytes) -> None:
    for file in (io.BytesIO(content), File(io.BytesIO(content), name="a.csv")):
        file.seek(len(content))

        assert files.digest(file) == (hashlib.sha256(content).hexdigest(), len(content))
        assert file.read() == content
