"""Programs that read uploads: stopped in time, and shared fairly between brands."""

import time
from threading import Thread
from types import SimpleNamespace

import pytest

from core.db import row_guard
from core.uploads.bounded_program import BoundedProgram


@pytest.fixture
def slow(tmp_path):
    """A program that answers at once, and then takes as many seconds as it is told."""
    path = tmp_path / "slow.py"
    path.write_text("import sys, time; print('begun', flush=True); time.sleep(float(sys.argv[1]))")
    return lambda seconds: BoundedProgram(SimpleNamespace(__file__=str(path)), seconds=seconds)


def test_a_program_that_takes_too_long_is_stopped_and_what_it_said_before_counts(slow):
    begun = time.monotonic()

    assert slow(3).run("600", content=b"", busy="busy") == b"begun\n"
    assert time.monotonic() - begun < 60


def test_a_brand_that_uploads_much_keeps_another_waiting_for_one_run_only(slow):
    program, ended = slow(60), []

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
