"""Fork servers: what their children share, whose time is counted, and what happens when a server is gone.

That a forked child is confined as any other is tested with the others, in test_sandbox.py.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simt import sandbox_fork
from simt.sandbox import ChildDied, Limits
from simt.sandbox_fork import Forked, ForkServer, NoForkServer
from tests.processes import PATIENCE_SECONDS, ended
from tests.simt.test_sandbox import FORK_SERVER, ROOT, USUAL, fields, tell


@pytest.fixture
def server():
    made = ForkServer(FORK_SERVER, 60)
    yield made
    made.close()


def begun(server, limits=USUAL):
    """(child, its pid)."""
    child = server.child([fields(limits), None], limits)
    return child, json.loads(child.wait(60)[0])[0]


def test_forks_of_one_server_share_nothing_that_they_change(server):
    (first, one), (second, other) = begun(server), begun(server)
    assert one != other
    assert tell(first, "import sys; sys.answer_of_a_submission = 42; result = 1") == "1"
    third, _ = begun(server)
    for child in (second, third):
        assert tell(child, "import sys; result = hasattr(sys, 'answer_of_a_submission')") == "False"
    assert {os.getsid(one), os.getsid(other)} == {one, other}
    for child in (first, second, third):
        child.kill()


def test_a_fork_holds_no_file_of_the_server_or_of_another_fork(server):
    statement = (
        "import os; result = sorted(os.readlink(f'/proc/self/fd/{n}').partition(':')[0] for n in os.listdir('/proc/self/fd')"
        " if os.path.exists(f'/proc/self/fd/{n}'))"
    )
    (first, _), (second, _) = begun(server), begun(server)
    # Questions, answers, and the null device in place of what it prints and complains.
    assert tell(second, statement) == "['/dev/null', '/dev/null', 'pipe', 'pipe']"
    assert tell(second, "import os; result = set(os.environ) - {'LC_CTYPE'}, os.getcwd()") == "(set(), '/')"
    first.kill(), second.kill()


def test_a_fork_that_was_killed_is_reaped_and_leaves_no_process(server):
    child, pid = begun(server)
    assert child.kill() == -signal.SIGKILL
    assert not child.alive
    assert not Path(f"/proc/{pid}").exists()


def test_two_threads_that_ask_how_a_fork_ended_ask_its_server_once():
    asked, asking, go = [], threading.Event(), threading.Event()

    def status(pid):
        asked.append(pid)
        asking.set()
        assert go.wait(PATIENCE_SECONDS)
        return 0

    fork = Forked(1, status, (None, None, None))
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(fork.poll)
        assert asking.wait(PATIENCE_SECONDS)
        second = threads.submit(fork.poll)
        go.set()
        assert (first.result(), second.result()) == (0, 0)
    assert asked == [1]


def test_processor_time_counts_from_the_fork():
    busy = "import time\nwhile time.process_time() < 1.5: pass\n"
    script = FORK_SERVER[4].replace("serve_forks(begin)", f"exec({busy!r}); serve_forks(begin)")
    server = ForkServer([*FORK_SERVER[:4], script, *FORK_SERVER[5:]], 60)
    child, _ = begun(server, Limits(cpu_seconds=1))
    assert tell(child, "import time; result = time.process_time() < 0.5") == "True"
    with pytest.raises(ChildDied) as died:
        tell(child, "while True: pass")
    assert died.value.status == -signal.SIGPROF
    server.close()


def test_a_server_that_ended_takes_its_forks_along_and_is_replaced(server):
    child, pid = begun(server)
    os.kill(server._process.pid, signal.SIGKILL)
    assert ended(pid)
    with pytest.raises(ChildDied, match="SIGKILL"):
        tell(child, "result = 1")
    assert not child.alive
    another, _ = begun(server)
    assert tell(another, "result = 2") == "2"
    another.kill()


def test_a_server_with_a_second_thread_does_not_fork():
    thread = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    script = FORK_SERVER[4].replace("    serve_forks(begin)", f"    exec({thread!r}); serve_forks(begin)")
    server = ForkServer([*FORK_SERVER[:4], script, *FORK_SERVER[5:]], 60)
    with pytest.raises(NoForkServer, match="2 threads"):
        begun(server)


@pytest.mark.parametrize("script", ["", "raise SystemExit(3)", "import time; time.sleep(1000)"])
def test_a_script_that_is_no_server_is_given_up(script):
    server = ForkServer([sys.executable, "-c", script], 0.5)
    with pytest.raises(NoForkServer, match="does not start"):
        server.child(None, USUAL)
    assert server._process is None


def test_other_systems_have_no_fork_server(server, monkeypatch):
    monkeypatch.setattr(sandbox_fork.platform, "system", lambda: "Darwin")
    with pytest.raises(NoForkServer, match="Linux"):
        server.child(None, USUAL)


def test_why_a_fork_did_not_begin_is_known(server):
    child = server.child([{"no_such_limit": 1}, None], USUAL)
    with pytest.raises(ChildDied, match="status 1") as died:
        child.wait(60)
    assert "no_such_limit" in died.value.errors


PARENT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.simt.test_sandbox import FORK_SERVER, USUAL, fields
from simt.sandbox_fork import ForkServer
import json
server = ForkServer(FORK_SERVER, 60)
child = server.child([fields(USUAL), None], USUAL)
print(server._process.pid, json.loads(child.wait(60)[0])[0], flush=True)
child.ask((b"import threading; threading.Event().wait()",))
"""


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGKILL])
def test_neither_server_nor_fork_outlives_the_parent(signal_number):
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        pids = [int(word) for word in parent.stdout.readline().split()]
        parent.send_signal(signal_number)
    assert [ended(pid) for pid in pids] == [True, True]


def test_a_process_forked_by_the_caller_uses_a_server_of_its_own(server):
    child, _ = begun(server)
    pid = os.fork()
    if pid == 0:
        other, _ = begun(server)
        os._exit(0 if tell(other, "result = 3") == "3" and not child.alive else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert tell(child, "result = 4") == "4"
    child.kill()
