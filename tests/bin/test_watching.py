"""bin/run restarts a process that ends and reports it, and gives up on a process that keeps ending."""

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

WEB_PROGRAM = """
import http.server, sys
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
server.serve_forever()
"""
LASTING_PROGRAM = "import time; time.sleep(600)"
ENDING_PROGRAM = "print('no luck')"


@pytest.fixture
def site(tmp_path):
    datadir.make(tmp_path / "log")
    return launcher.Site("127.0.0.1", free_port(), tmp_path)


def start_program(site, name, code):
    command = [sys.executable, "-c", code, str(site.port)]
    started = Server.start(name, command, data_dir=site.data_dir, env={}, cwd=site.data_dir)
    return replace(started, start_again=lambda: start_program(site, name, code))


def watch_in_thread(site, programs):
    """Watches the programs in a thread. Returns a list, to which the message of an error is added."""
    errors = []

    def watch():
        try:
            launcher.watch(site, servers=[], programs=programs)
        except ServerError as error:
            errors.append(str(error))

    threading.Thread(target=watch, daemon=True).start()
    return errors


def test_killed_process_is_restarted_and_reported(site, capsys):
    programs = [start_program(site, "web", WEB_PROGRAM), start_program(site, "jobs", LASTING_PROGRAM)]
    first = programs[1].process
    errors = watch_in_thread(site, programs)
    output = ""
    while "Ready" not in output:
        output += capsys.readouterr().out
        time.sleep(0.02)

    first.send_signal(signal.SIGKILL)
    wait_until(lambda: programs[1].process.pid != first.pid)

    assert programs[1].is_alive()
    wait_until(lambda: re.search(r"jobs ended \(exit code -9\); starting it again", capsys.readouterr().out))
    assert errors == []
    programs[1] = replace(programs[1], start_again=None)
    processes.stop([program.process for program in programs])
    wait_until(lambda: errors)


def test_process_that_keeps_ending_stops_everything_and_shows_its_output(site):
    programs = [start_program(site, "web", WEB_PROGRAM)]
    wait_until(lambda: launcher.answers(site))
    programs.append(start_program(site, "beat", LASTING_PROGRAM))
    errors = watch_in_thread(site, programs)
    time.sleep(0.5)

    programs[1] = replace(programs[1], start_again=lambda: start_program(site, "beat", ENDING_PROGRAM))
    programs[1].process.kill()
    wait_until(lambda: errors)

    processes.stop([program.process for program in programs])
    assert errors[0].startswith("beat ended (exit code 0) for the 6th time in a minute, so everything stops.")
    assert "no luck" in errors[0]
