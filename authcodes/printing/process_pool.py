"""Work spread over processes: results in order, a few tasks ahead; the processes end with their parent."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

AHEAD = 2  # tasks sent to a process ahead; they must fit a socket's buffer, so below 100 kB each
# Forked, so that they have the settings and tables of their parent at once.
_context = multiprocessing.get_context("fork")


def map_in_processes(work: Callable[[Task], Result], tasks: Iterable[Task], *, processes: int) -> Iterator[Result]:
    """The results of `work` in the order of `tasks`; its exceptions are raised here.

    `work` may not use the database: its processes share the connection of their parent.
    """
    if processes <= 1:
        yield from map(work, tasks)
        return
    # Celery marks its workers as daemons, which may not start processes. Ours end with them anyway.
    multiprocessing.current_process().daemon = False
    workers = [_Worker(work) for _ in range(processes)]
    try:
        waiting: deque[_Worker[Task, Result]] = deque()
        for number, task in enumerate(tasks):
            if len(waiting) == AHEAD * processes:
                yield waiting.popleft().result()
            worker = workers[number % processes]
            worker.connection.send(task)
            waiting.append(worker)
        while waiting:
            yield waiting.popleft().result()
    finally:
        for worker in workers:
            worker.stop()


def run_in_process(work: Callable[[], Result]) -> Result:
    """The result of `work` in a separate process: all memory that it takes is freed when it ends.

    `work` may not use the database, as above.
    """
    multiprocessing.current_process().daemon = False
    worker: _Worker[None, Result] = _Worker(lambda _task: work())
    try:
        worker.connection.send(None)
        return worker.result()
    finally:
        worker.stop()


class _Worker(Generic[Task, Result]):
    def __init__(self, work: Callable[[Task], Result]) -> None:
        self.connection, worker_end = _context.Pipe()
        self.process = _context.Process(target=_serve, args=(work, worker_end, self.connection), daemon=True)
        self.process.start()
        worker_end.close()

    def result(self) -> Result:
        match, error = self.connection.recv()
        if error is not None:
            raise error
        result: Result = match
        return result

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def _serve(work: Callable[[Any], Any], tasks: Connection, parents: Connection) -> None:
    """Work until the parent closes its end or dies; so no other process may hold that end open."""
    parents.close()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            task = tasks.recv()
            answer: tuple[Any, Exception | None]
            try:
                answer = work(task), None
            except Exception as error:  # noqa: BLE001 - raised where the results are read
                answer = None, error
            tasks.send(answer)
    except (EOFError, OSError):
        return
