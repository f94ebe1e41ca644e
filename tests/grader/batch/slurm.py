"""A Slurm of the tests' own: Debian's programs in the foreground, two nodes on this machine, a temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.processes import PATIENCE_SECONDS, wait_until

TRIES = 3  # to start: another program may take a port that was free a moment ago
NODES = ("node1", "node2")

CONFIG = """ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
MailProg=/bin/true
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
GresTypes=gpu
{nodes}
PartitionName=lab Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """A running cluster; `folder` holds its configuration and logs."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._daemons: list[subprocess.Popen] = []
        self._node: dict[str, subprocess.Popen] = {}

    def control(self, *words: str) -> str:
        """What one of Slurm's commands says."""
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Starts munge, the controller and both nodes, and waits until they are idle."""
        for name in ("munge", "state", *(f"spool-{node}" for node in NODES)):
            (self.folder / name).mkdir()
        os.chmod(self.folder / "munge", 0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        (self.folder / "slurm.conf").write_text(self._config())
        # A GPU is a number and a file; Slurm gives jobs the number and looks into no file.
        (self.folder / "gres.conf").write_text(f"NodeName={','.join(NODES)} Name=gpu File=/dev/null\n")
        munge = self.folder / "munge"
        self._run(
            "munged", "-F", f"--socket={munge}/munge.socket", f"--key-file={key}", f"--pid-file={munge}/pid",
            f"--seed-file={munge}/seed", f"--log-file={munge}/log", "--force",
        )  # fmt: skip
        self._wait(lambda: (munge / "munge.socket").exists())
        self._run("slurmctld", "-D", "-f", str(self.folder / "slurm.conf"))
        self._wait(self._answers)
        for node in NODES:
            self._node[node] = self._run("slurmd", "-D", "-f", str(self.folder / "slurm.conf"), "-N", node)
        self._wait(lambda: self.control("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(NODES))

    def _config(self) -> str:
        host, ports = socket.gethostname(), free_ports(1 + len(NODES))
        each = "NodeAddr=127.0.0.1 CPUs=2 RealMemory=8000 Gres=gpu:1 State=UNKNOWN"
        nodes = [f"NodeName={node} NodeHostname={host} Port={port} {each}"
                 for node, port in zip(NODES, ports[1:])]  # fmt: skip
        return CONFIG.format(
            host=host, user="root" if os.getuid() == 0 else os.environ["USER"], controller_port=ports[0],
            folder=self.folder, nodes="\n".join(nodes), names=",".join(NODES),
        )  # fmt: skip

    def _wait(self, is_ready: Callable[[], bool]) -> None:
        """Returns as soon as `is_ready()`; fails when a daemon ended, as one does that finds its port taken."""

        def looked() -> bool:
            ended = [daemon.args[0] for daemon in self._daemons if daemon.poll() is not None]
            if ended:
                raise DaemonEnded(f"{ended[0]} ended while Slurm started")
            return is_ready()

        wait_until(looked)

    def _answers(self) -> bool:
        return subprocess.run(["sinfo", "-h"], capture_output=True, timeout=PATIENCE_SECONDS).returncode == 0

    def _run(self, *command: str) -> subprocess.Popen:
        name = command[0]
        program = shutil.which(name) or f"/usr/sbin/{name}"
        log = open(self.folder / f"{name}-{len(self._daemons)}.out", "wb")
        daemon = subprocess.Popen([program, *command[1:]], stdout=log, stderr=log)
        self._daemons.append(daemon)
        return daemon

    def busy_node(self) -> str:
        """The name of a node that runs a job now."""
        return self.control("squeue", "-h", "-t", "R", "-o", "%N").split()[0]

    def take_down(self, node: str) -> None:
        """Takes a node away with the job on it, as a power cut does: nothing there is asked to end."""
        jobs = self.control("squeue", "-h", "-w", node, "-o", "%i").split()
        self._node[node].kill()
        self._node[node].wait()
        self.control("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
        for job in jobs:
            for line in Path("/proc").glob("[0-9]*/environ"):
                with contextlib.suppress(OSError):
                    if f"SLURM_JOB_ID={job}\0".encode() in line.read_bytes():
                        os.kill(int(line.parent.name), 9)

    def stop(self) -> None:
        """Cancels what runs and ends every daemon."""
        subprocess.run(["scancel", "--full", "-u", "root"], capture_output=True, timeout=PATIENCE_SECONDS)
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class DaemonEnded(RuntimeError):
    """One of Slurm's programs did not stay."""


@contextlib.contextmanager
def slurm_cluster() -> Iterator[Slurm]:
    """A cluster that ends with the block.

    Its folder's name is short: Slurm's sockets lie in it, and a socket's path has 108 bytes at most.
    """
    before = os.environ.get("SLURM_CONF")
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        slurm = None
        try:
            slurm = _started(Path(name))
            yield slurm
        finally:
            if slurm:
                slurm.stop()
            if before is None:
                del os.environ["SLURM_CONF"]
            else:
                os.environ["SLURM_CONF"] = before


def _started(folder: Path) -> Slurm:
    """A cluster that runs, in a folder of its own for each try; SLURM_CONF names its configuration."""
    for left in reversed(range(TRIES)):
        slurm = Slurm(folder / str(left))
        slurm.folder.mkdir()
        os.environ["SLURM_CONF"] = str(slurm.folder / "slurm.conf")
        try:
            slurm.start()
        except BaseException as error:
            slurm.stop()
            if not (left and isinstance(error, DaemonEnded)):
                raise
        else:
            return slurm
    raise AssertionError("the last try raises")
