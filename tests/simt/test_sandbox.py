"""Confined children: what they may not do, how they end, and that nothing of them is left."""

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt import sandbox_linux
from simt.sandbox import MIB, Child, ChildDied, ChildTimeout, Limits, layers, read_message, write_message
from simt.sandbox_fork import ForkServer
from tests.processes import ended

ROOT = Path(__file__).resolve().parents[2]

# Answers (statement,) with what the statement leaves in `result`, after confining itself as argv says.
CHILD = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from simt.sandbox import Limits, confine, serve
from simt.sandbox_fork import serve_forks

def begin(setup):
    limits, readable = setup

    def hello():
        print("this is no answer")
        return (json.dumps([os.getpid(), confine(Limits(**limits), readable)]).encode(),)

    serve(answer, hello)

def answer(message):
    scope = {}
    try:
        exec(message[0].decode(), scope)
        return (repr(scope.get("result")).encode(),)
    except BaseException as error:
        return (type(error).__name__.encode(),)

if len(sys.argv) > 2:
    begin(json.loads(sys.argv[2]))
else:
    serve_forks(begin)
"""


USUAL = Limits()


def fields(limits):
    return {name: getattr(limits, name) for name in limits.__slots__}


FORK_SERVER = [sys.executable, "-I", "-S", "-c", CHILD, str(ROOT)]


def command(limits, readable=None):
    return [*FORK_SERVER, json.dumps([fields(limits), readable])]


@pytest.fixture(scope="module")
def fork_server():
    server = ForkServer(FORK_SERVER, 60)
    yield server
    server.close()


@pytest.fixture(params=["spawned", *(["forked"] if sys.platform == "linux" else [])])
def start(request):
    """Starts a child, on its own and as a fork: what holds for one holds for the other."""
    server = request.getfixturevalue("fork_server") if request.param == "forked" else None
    children = []

    def begin(limits=USUAL, readable=None):
        setup = [fields(limits), readable]
        child = server.child(setup, limits) if server else Child(command(limits, readable), limits)
        children.append(child)
        pid, applied = json.loads(child.wait(60)[0])
        child.pid, child.applied = pid, applied
        return child

    yield begin
    for child in children:
        child.kill()


def tell(child, statement):
    return child.ask((statement.encode(),))[0].decode()


def test_child_answers_one_message_after_another(start):
    child = start()
    assert [tell(child, f"result = {n} * {n}") for n in range(5)] == ["0", "1", "4", "9", "16"]


def test_child_applies_exactly_the_layers_of_this_machine(start):
    assert start(readable=[]).applied == [layer.name for layer in layers() if layer.available]


def test_every_layer_says_why():
    assert all(layer.why for layer in layers())


def test_child_inherits_no_environment_and_works_in_the_root(start):
    """`LC_CTYPE` is Python's own: it sets it where no locale is given."""
    assert tell(start(), "import os; result = (set(os.environ) - {'LC_CTYPE'}, os.getcwd())") == "(set(), '/')"


def available(name):
    return next(layer.available for layer in layers() if layer.name == name)


def test_child_reads_only_what_it_was_given(start, tmp_path):
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
        (folder / "file").write_text("text")
    child = start(readable=[str(mine)])
    refused = "PermissionError" if available("landlock") else "'text'"
    assert tell(child, f"result = open({str(mine / 'file')!r}).read()") == "'text'"
    assert tell(child, f"result = open({str(other / 'file')!r}).read()") == refused
    assert tell(child, "result = open('/proc/self/environ').read()") == (refused if available("landlock") else "''")


@pytest.mark.parametrize(
    "statement",
    [
        "import socket; socket.socket()",
        "import os; os.fork()",
        "import os; os.execv('/bin/true', ['true'])",
        "import os; os.kill(1, 0)",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)",
        "import os; os.chmod('/tmp', 0o1777)",
    ],
)
def test_child_starts_no_program_and_reaches_no_other_process(start, statement):
    expected = "PermissionError" if available("seccomp") else "None"
    assert tell(start(), statement) == expected


def test_child_may_start_threads(start):
    statement = (
        "import threading; result = []; t = threading.Thread(target=result.append, args=[7]); t.start(); t.join()"
    )
    assert tell(start(), statement) == "[7]"


def test_child_writes_no_file(start, tmp_path):
    child = start(Limits(file_bytes=0))
    assert tell(child, f"f = open({str(tmp_path / 'new')!r}, 'wb', 0); f.write(b'x')") == "OSError"


def test_child_gets_no_more_memory(start):
    child = start(Limits(address_space_bytes=512 * MIB))
    assert tell(child, "result = len(bytes(1 << 30))") == "MemoryError"
    assert tell(child, "result = len(bytes(1 << 20))") == str(1 << 20)


def test_child_opens_a_limited_number_of_files(start):
    assert tell(start(Limits(open_files=16)), "f = [open('/dev/null') for _ in range(32)]") == "OSError"


def test_processor_time_ends_a_child(start):
    child = start(Limits(cpu_seconds=1))
    with pytest.raises(ChildDied) as died:
        tell(child, "while True: pass")
    assert died.value.status == -signal.SIGPROF
    assert "SIGPROF" in str(died.value)


def test_wall_limit_ends_a_child_that_waits(start):
    child = start(Limits(wall_seconds=0.5))
    with pytest.raises(ChildTimeout, match="0.5 s"):
        tell(child, "import threading; threading.Event().wait()")
    assert not child.alive


def test_crash_is_named_after_its_signal(start):
    child = start()
    with pytest.raises(ChildDied, match="SIGSEGV") as died:
        tell(child, "import ctypes; ctypes.string_at(0)")
    assert died.value.status == -signal.SIGSEGV
    assert not child.alive


def test_what_a_child_wrote_before_it_was_ready_says_why_it_ended():
    script = "import os, sys; os.write(2, b'x' * 10**6 + b'\\n\\x1b[31mno\\tluck\\xff\\n'); sys.exit(3)"
    with pytest.raises(ChildDied, match="status 3") as died:
        Child([sys.executable, "-c", script], Limits()).wait(60)
    first, last = died.value.errors.split("\n")
    assert last == "\N{REPLACEMENT CHARACTER}[31mno luck\N{REPLACEMENT CHARACTER}"
    assert set(first) == {"x"} and 4000 < len(first) < 4096


def test_what_a_job_wrote_says_nothing(start):
    child = start()
    with pytest.raises(ChildDied, match="SIGSEGV") as died:
        tell(child, "import ctypes, os; os.write(2, b'forged'); ctypes.string_at(0)")
    assert died.value.errors == ""


def test_a_child_gets_the_variables_it_is_given_and_no_others(monkeypatch):
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("ANSWER", "a")
    child = Child(command(Limits()), Limits(), {"ANSWER": os.environ["ANSWER"]})
    child.wait(60)
    names = tell(child, "import os; result = sorted(os.environ.keys() - {'LC_CTYPE', 'SYSTEMROOT'})")
    child.kill()
    assert names == "['ANSWER']"


def test_an_answer_that_is_too_long_is_not_read(start):
    child = start(Limits(message_bytes=1000))
    with pytest.raises(ChildDied, match="2018 bytes"):
        tell(child, "result = 'x' * 2000")


def test_what_a_child_prints_is_no_answer(start):
    child = start()
    tell(child, "import os; os.write(1, bytes(100)); print('forged')")
    assert tell(child, "result = 1") == "1"


# Answers before it is asked, and twice when it is.
FORGER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from simt.sandbox import read_message, write_message
replies, asked = sys.stdout.buffer, sys.stdin.buffer
write_message(replies, (b"hello",))
if sys.argv[2] == "early":
    write_message(replies, (b"forged", bytes(16)))
while True:
    *message, nonce = read_message(asked, 1000)
    for answer in ((b"right",), (b"forged for the next",)) if sys.argv[2] == "twice" else ((b"right",),):
        write_message(replies, (*answer, nonce))
"""


@pytest.mark.parametrize(("how", "right"), [("early", 0), ("twice", 1)])
def test_an_answer_to_another_question_is_refused(how, right):
    child = Child([sys.executable, "-c", FORGER, str(ROOT), how], Limits())
    assert child.wait(60) == (b"hello",)
    for _ in range(right):
        assert child.ask((b"question",)) == (b"right",)
    with pytest.raises(ChildDied, match="without having been asked"):
        child.ask((b"question",))
    assert not child.alive


def test_the_parent_reads_nothing_that_it_did_not_ask_for():
    flood = "import os\nwhile True: os.write(1, bytes(4096))"
    child = Child([sys.executable, "-c", flood], Limits())
    assert child._answers.empty()
    with pytest.raises(ChildDied):
        child.ask((b"question",), 60, most_bytes=100)


PARENT = """
import json, sys
sys.path.insert(0, {root!r})
from simt.sandbox import Child, Limits
child = Child({command!r}, Limits())
print(json.loads(child.wait(60)[0])[0], flush=True)
child.ask((b"import threading; threading.Event().wait()",))
"""


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_child_outlives_its_parent(signal_number):
    script = PARENT.format(root=str(ROOT), command=command(Limits()))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        pid = int(parent.stdout.readline())
        parent.send_signal(signal_number)
    assert ended(pid)


UNCONFINED = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from simt.sandbox import write_message
write_message(sys.stdout.buffer, (str(subprocess.Popen(["sleep", "1000"]).pid).encode(),))
sys.stdin.read()
"""


def test_killing_a_child_takes_its_own_children_along():
    child = Child([sys.executable, "-c", UNCONFINED, str(ROOT)], Limits())
    grandchild = int(child.wait(60)[0])
    child.kill()
    assert ended(grandchild)


@given(st.lists(st.binary(max_size=100), max_size=16))
def test_a_message_is_read_as_it_was_written(parts):
    stream = BytesIO()
    write_message(stream, tuple(parts))
    stream.seek(0)
    assert read_message(stream, 2000) == tuple(parts)


@pytest.mark.parametrize(
    ("data", "error"),
    [(b"", EOFError), (struct.pack("<2Q", 1, 9) + b"short", EOFError), (struct.pack("<Q", 33), ValueError)]
    + [(struct.pack("<2Q", 1, 1 << 60), ValueError)],
)
def test_what_is_no_message_is_refused(data, error):
    with pytest.raises(error):
        read_message(BytesIO(data), 1000)


PID = 4321


def verdict(machine, arch, number, flags=0):
    """What the seccomp filter returns, by interpreting its BPF."""
    code = list(struct.iter_unpack("=HBBI", sandbox_linux.seccomp_program(machine, PID)))
    data = {0: number, 4: arch, 16: flags}
    at = value = 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == sandbox_linux.LOAD:
            value = data[operand]
        elif operation == sandbox_linux.RETURN:
            return operand
        else:
            holds = {
                sandbox_linux.JUMP_EQUAL: value == operand,
                sandbox_linux.JUMP_AT_LEAST: value >= operand,
                sandbox_linux.JUMP_ANY_BIT: bool(value & operand),
            }[operation]
            at += if_true if holds else if_false


@pytest.mark.parametrize("machine", sorted(sandbox_linux.DENIED))
def test_filter_refuses_exactly_the_listed_calls(machine):
    arch, denied = sandbox_linux.AUDIT_ARCH[machine], set(sandbox_linux.DENIED[machine].values())
    special = {sandbox_linux.CLONE[machine], sandbox_linux.CLONE3, *sandbox_linux.OWN_PROCESS[machine].values()}
    for number in set(range(512)) - special:
        allowed = verdict(machine, arch, number) == sandbox_linux.RET_ALLOW
        assert allowed == (number not in denied), number


@pytest.mark.parametrize("machine", sorted(sandbox_linux.DENIED))
def test_filter_lets_clone_make_threads_only(machine):
    arch, clone = sandbox_linux.AUDIT_ARCH[machine], sandbox_linux.CLONE[machine]
    assert verdict(machine, arch, clone, sandbox_linux.CLONE_THREAD | 0x100) == sandbox_linux.RET_ALLOW
    assert verdict(machine, arch, clone, 0x100) != sandbox_linux.RET_ALLOW
    assert verdict(machine, arch, sandbox_linux.CLONE3) != sandbox_linux.RET_ALLOW


@pytest.mark.parametrize("machine", sorted(sandbox_linux.DENIED))
@pytest.mark.parametrize("name", ["tgkill", "prlimit64"])
def test_filter_lets_a_process_reach_itself_only(machine, name):
    arch, number = sandbox_linux.AUDIT_ARCH[machine], sandbox_linux.OWN_PROCESS[machine][name]
    allowed = {pid: verdict(machine, arch, number, pid) == sandbox_linux.RET_ALLOW for pid in (0, 1, PID, PID + 1)}
    assert allowed == {0: True, 1: False, PID: True, PID + 1: False}


@pytest.mark.parametrize("machine", sorted(sandbox_linux.DENIED))
def test_filter_refuses_calls_of_another_architecture(machine):
    assert verdict(machine, 0x40000003, 0) != sandbox_linux.RET_ALLOW


def test_filter_refuses_the_x32_calls():
    assert verdict("x86_64", sandbox_linux.AUDIT_ARCH["x86_64"], sandbox_linux.X32_BIT) != sandbox_linux.RET_ALLOW


@pytest.mark.parametrize(
    "died", [ChildDied(-signal.SIGKILL, errors="MemoryError"), ChildDied(3, "child answered nonsense")]
)
def test_how_a_child_died_is_kept_between_processes(died):
    found = pickle.loads(pickle.dumps(died))
    assert (type(found), str(found)) == (ChildDied, str(died))
    assert (found.status, found.errors) == (died.status, died.errors)
