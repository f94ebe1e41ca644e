"""The two Linux layers of the sandbox, spoken to through ctypes: Landlock (files) and seccomp (system calls).

Neither needs root or a package. Both act on the calling thread and on everything it starts afterwards, so they are
switched on before a child starts a thread. What they are used for is in `simt.sandbox`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable

__all__ = ["SandboxError", "landlock_version", "restrict_files", "restrict_system_calls", "seccomp_problem"]


class SandboxError(OSError):
    """A layer that this machine has could not be switched on."""


# Numbers of linux/landlock.h and the kernel's unified system call table (the same on every architecture).
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULESET_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
# File rights by Landlock ABI: 13 in version 1, then REFER, TRUNCATE, IOCTL_DEV (linux/landlock.h).
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}

# linux/prctl.h, linux/seccomp.h, linux/filter.h, linux/audit.h
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
RET_ALLOW, RET_ERRNO = 0x7FFF0000, 0x00050000
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_OFFSET, ARCH_OFFSET, FIRST_ARGUMENT_OFFSET = 0, 4, 16
CLONE_THREAD = 0x00010000
X32_BIT = 0x40000000

# System calls a computing child has no use for: start programs, reach the network or other processes, get around the
# filter, leave something behind (IPC objects), or change files in ways that Landlock does not mediate (modes, owners,
# times) or that a machine without Landlock would allow. asm/unistd_64.h for x86-64, asm-generic/unistd.h for aarch64.
DENIED = {
    "x86_64": {
        "socket": 41, "connect": 42, "socketpair": 53, "bind": 49, "vfork": 58, "fork": 57, "execve": 59,
        "execveat": 322, "kill": 62, "ptrace": 101, "mount": 165, "pivot_root": 155, "chroot": 161, "unshare": 272,
        "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "bpf": 321, "userfaultfd": 323,
        "pidfd_open": 434, "pidfd_send_signal": 424, "pidfd_getfd": 438, "io_uring_setup": 425, "keyctl": 250,
        "add_key": 248, "request_key": 249, "perf_event_open": 298, "open_by_handle_at": 304, "tkill": 200,
        "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "process_madvise": 440, "kcmp": 312, "shmget": 29,
        "semget": 64, "msgget": 68, "mq_open": 240, "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92,
        "fchown": 93, "lchown": 94, "fchownat": 260, "utime": 132, "utimes": 235, "utimensat": 280, "futimesat": 261,
        "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
        "fremovexattr": 199, "mknod": 133, "mknodat": 259, "rmdir": 84, "unlink": 87, "unlinkat": 263, "rename": 82,
        "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265, "symlink": 88, "symlinkat": 266, "truncate": 76,
    },
    "aarch64": {
        "socket": 198, "connect": 203, "socketpair": 199, "bind": 200, "execve": 221, "execveat": 281, "kill": 129,
        "ptrace": 117, "mount": 40, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268,
        "process_vm_readv": 270, "process_vm_writev": 271, "bpf": 280, "userfaultfd": 282, "pidfd_open": 434,
        "pidfd_send_signal": 424, "pidfd_getfd": 438, "io_uring_setup": 425, "keyctl": 219, "add_key": 217,
        "request_key": 218, "perf_event_open": 241, "open_by_handle_at": 265, "tkill": 130, "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240, "process_madvise": 440, "kcmp": 272, "shmget": 194, "semget": 190, "msgget": 186,
        "mq_open": 180, "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88, "setxattr": 5,
        "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "mknodat": 33,
        "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38, "renameat2": 276, "truncate": 45,
    },
}  # fmt: skip
# Accepted only about the calling process: abort() signals itself, and getrlimit asks about pid 0.
OWN_PROCESS = {
    "x86_64": {"tgkill": 234, "prlimit64": 302},
    "aarch64": {"tgkill": 131, "prlimit64": 261},
}
CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3 = 435
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def landlock_version() -> int:
    """Landlock ABI of the running kernel, 0 when it has none or is not Linux."""
    if platform.system() != "Linux":
        return 0
    return max(0, _libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), RULESET_VERSION))


def restrict_files(readable: Iterable[str]) -> None:
    """Leaves this thread reading below `readable` as its only access to files.

    Raises:
        SandboxError: the kernel refused; nothing may be assumed to be restricted.
    """
    libc, version = _libc(), landlock_version()
    rights = (1 << FILE_RIGHTS[min(version, max(FILE_RIGHTS))]) - 1
    ruleset = struct.pack("=Q", rights)
    buffer = ctypes.create_string_buffer(ruleset, len(ruleset))
    handle = _checked(libc.syscall(CREATE_RULESET, buffer, ctypes.c_size_t(len(ruleset)), 0), "landlock_create_ruleset")
    try:
        for path in readable:
            _allow_reading(libc, handle, path)
        _no_new_privileges(libc)
        _checked(libc.syscall(RESTRICT_SELF, handle, 0), "landlock_restrict_self")
    finally:
        os.close(handle)


def _allow_reading(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    rights = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
    directory = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, directory), 12)
        _checked(libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0), "landlock_add_rule")
    finally:
        os.close(directory)


def seccomp_problem() -> str:
    """Why seccomp filters cannot be used here, empty when they can."""
    if platform.system() != "Linux":
        return "seccomp is a Linux feature"
    if platform.machine() not in AUDIT_ARCH:
        return f"no system call table for {platform.machine()}"
    libc = _libc()
    # A filter at address 0 is refused with EFAULT by a kernel that has filters, with EINVAL by one that has not.
    libc.prctl(PR_SET_SECCOMP, MODE_FILTER, None, 0, 0)
    return "" if ctypes.get_errno() in (errno.EFAULT, errno.EACCES) else "the kernel has no seccomp filters"


def restrict_system_calls() -> None:
    """Makes the calls of `DENIED` fail with EPERM in this thread and all that it starts; new processes are refused.

    Raises:
        SandboxError: the kernel refused the filter.
    """
    libc = _libc()
    program = seccomp_program(platform.machine(), os.getpid())
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    _no_new_privileges(libc)
    _checked(libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.create_string_buffer(header, 16), 0, 0), "prctl(SECCOMP)")


def seccomp_program(machine: str, pid: int) -> bytes:
    """The filter of process `pid` as BPF: 8 bytes an instruction."""
    refuse = (RETURN, 0, 0, RET_ERRNO | errno.EPERM)
    code = [(LOAD, 0, 0, ARCH_OFFSET), (JUMP_EQUAL, 1, 0, AUDIT_ARCH[machine]), refuse, (LOAD, 0, 0, NUMBER_OFFSET)]
    if machine == "x86_64":
        code += [(JUMP_AT_LEAST, 0, 1, X32_BIT), refuse]
    for number in sorted(DENIED[machine].values()):
        code += [(JUMP_EQUAL, 0, 1, number), refuse]
    for number in OWN_PROCESS[machine].values():
        code += [
            (JUMP_EQUAL, 0, 4, number),
            (LOAD, 0, 0, FIRST_ARGUMENT_OFFSET),
            (JUMP_EQUAL, 2, 0, 0),
            (JUMP_EQUAL, 1, 0, pid),
            refuse,
            (LOAD, 0, 0, NUMBER_OFFSET),
        ]
    # glibc falls back to clone when clone3 is unknown; clone may make threads only.
    code += [(JUMP_EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, RET_ERRNO | errno.ENOSYS)]
    code += [
        (JUMP_EQUAL, 0, 3, CLONE[machine]),
        (LOAD, 0, 0, FIRST_ARGUMENT_OFFSET),
        (JUMP_ANY_BIT, 1, 0, CLONE_THREAD),
        refuse,
    ]
    code.append((RETURN, 0, 0, RET_ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _no_new_privileges(libc: ctypes.CDLL) -> None:
    _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(NO_NEW_PRIVS)")


def _checked(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise SandboxError(number, f"{call}: {os.strerror(number)}")
    return result
