"""What bin/run does about a process that ends: it starts another, says so, and gives up on one that never stays."""

import re
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "bin"))

import launcher
from embedded import datadir, processes
from embedded.datadir import ServerError
from embedded.server import Server

from tests.support.live_stack import free_port, wait_until

WEB = """
import http.server, sys
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
server.serve_forever()
"""
LASTING = "import time; time.sleep(600)"
ENDS_AT_ONCE = "print('no luck')"


@pytest.fixture
def site(tmp_path):
    datadir.make(tmp_path / "log")
    return launcher.Site("127.0.0.1", free_port(), tmp_path)


def start(site, name, code):
    command = [sys.executable, "-c", code, str(site.port)]
    started = Server.start(name, command, data_dir=site.data_dir, env={}, cwd=site.data_dir)
    return replace(started, start_again=lambda: start(site, name, code))


def watching(site, programs):
    """Watches in a thread; returns what it raised, once it has."""
    raised = []

    def watch():
        try:
            launcher.watch(site, servers=[], programs=programs)
        except ServerError as error:
            raised.append(str(error))

    threading.Thread(target=watch, daemon=True).start()
    return raised


def test_a_killed_process_is_started_again_and_said_to_be(site, capsys):
    programs = [start(site, "web", WEB), start(site, "jobs", LASTING)]
    first = programs[1].process
    raised = watching(site, programs)
    output = ""
    while "Ready" not in output:
        output += capsys.readouterr().out
        time.sleep(0.02)

    first.send_signal(signal.SIGKILL)
    wait_until(lambda: programs[1].process.pid != first.pid)

    assert programs[1].is_alive()
    wait_until(lambda: re.search(r"jobs ended \(exit code -9\); starting it again", capsys.readouterr().out))
    assert raised == []
    programs[1] = replace(programs[1], start_again=None)
    processes.stop([program.process for program in programs])
    wait_until(lambda: raised)


def test_one_that_never_stays_ends_everything_with_its_last_words(site):
    programs = [start(site, "web", WEB)]
    wait_until(lambda: launcher.answers(site))
    programs.append(start(site, "beat", LASTING))
    raised = watching(site, programs)
    time.sleep(0.5)

    programs[1] = replace(programs[1], start_again=lambda: start(site, "beat", ENDS_AT_ONCE))
    programs[1].process.kill()
    wait_until(lambda: raised)

    processes.stop([program.process for program in programs])
    assert raised[0].startswith("beat ended (exit code 0) for the 6th time in a minute, so everything stops.")
    assert "no luck" in raised[0]
