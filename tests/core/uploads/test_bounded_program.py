"""Programs that read uploads: stopped in time, and shared fairly between brands."""

import time
from threading import Thread
from types import SimpleNamespace

import pytest

from core.db import row_guard
from core.uploads.bounded_program import BoundedProgram


@pytest.fixture
def slow_program(tmp_path):
    """A program that prints a line at once, and then sleeps for as many seconds as its argument says."""
    path = tmp_path / "slow.py"
    path.write_text("import sys, time; print('begun', flush=True); time.sleep(float(sys.argv[1]))")
    return lambda seconds: BoundedProgram(SimpleNamespace(__file__=str(path)), seconds=seconds)


def test_slow_program_is_stopped_and_its_earlier_output_returned(slow_program):
    began = time.monotonic()

    assert slow_program(3).run("600", content=b"", busy="busy") == b"begun\n"
    assert time.monotonic() - began < 60


def test_brand_with_many_uploads_does_not_block_another_brand(slow_program):
    program, ended = slow_program(60), []

    def upload(brand_id):
        with row_guard.within([brand_id]):
            program.run("0.3", content=b"", busy="busy")
        ended.append(brand_id)

    threads = [Thread(target=upload, args=(brand_id,)) for brand_id in (1, 1, 1, 1, 1, 1, 2)]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()

    assert ended.index(2) <= 2
    assert sorted(ended) == [1, 1, 1, 1, 1, 1, 2]
