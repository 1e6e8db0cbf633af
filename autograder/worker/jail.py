"""Lock this process up for the rest of its life. Called in a child that the zygote has just forked, before any of the student's code.

bubblewrap: namespaces of its own inside the zygote's, with a folder of its own. uid: a user of its own. landlock, none: neither.
Whichever it is, the system calls in seccomp.py are refused, and memory, CPU time, threads, file sizes and open files have limits.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

from . import landlock, seccomp

BUBBLEWRAP, UID, LANDLOCK, NONE = "bubblewrap", "uid", "landlock", "none"
SCRATCH = "/scratch"  # the folder for temporary files, in bubblewrap

UIDS = range(61184, 65520)  # kept free of people by Linux distributions
CHANNEL = 3  # the file descriptor of the one way out
LIMITS = {
    resource.RLIMIT_AS: 4 * 2**30,
    resource.RLIMIT_CPU: 240,  # the judge's own limits are lower and end the process sooner
    resource.RLIMIT_NPROC: 64,  # threads: other processes are refused
    resource.RLIMIT_FSIZE: 16 * 2**20,
    resource.RLIMIT_NOFILE: 128,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_MEMLOCK: 0,
    resource.RLIMIT_MSGQUEUE: 0,
}
NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000  # mount, uts, ipc, user, pid, net
NOSUID, NODEV, NOEXEC, READ_ONLY = 2, 4, 8, 1
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
JOIN_SESSION_KEYRING = 1

_libc = ctypes.CDLL(None, use_errno=True)


def lock(isolation: str, channel: int, uid: int) -> None:
    """After this the process is the student's. uid: its user, if root locks it up outside bubblewrap. OSError if it cannot be locked."""
    _only_descriptor(channel)
    with contextlib.suppress(OSError):  # where /proc cannot be written to
        Path("/proc/self/oom_score_adj").write_text("1000")  # if memory runs out, the kernel ends this process and not the grader
    if isolation == BUBBLEWRAP:
        _own_namespaces()
        _own_files()
    os.chdir(SCRATCH if isolation == BUBBLEWRAP else "/")
    if isolation == UID:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    elif isolation != BUBBLEWRAP and os.geteuid() == 0:  # the real user counts threads, and root's have no limit; files are still root's
        os.setresuid(uid, -1, -1)
    if isolation != BUBBLEWRAP:  # there the end of the zygote ends its namespace, and with it this process
        _checked(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    _libc.syscall(seccomp.KERNEL["keyctl"][seccomp.column()], JOIN_SESSION_KEYRING, None)  # fails where there are no keyrings
    _drop_capabilities()
    for limit, value in LIMITS.items():
        resource.setrlimit(limit, (value, value))
    _checked(_libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
    if isolation in (UID, LANDLOCK) and landlock.version():
        landlock.read_only_beneath(readable())
    seccomp.forbid(writes=isolation != BUBBLEWRAP)


def readable() -> list[str]:
    """What Python and torch read while a student's code runs: the interpreter, the packages, the system's libraries."""
    packages = [os.path.dirname(os.path.dirname(module.__file__)) for name, module in sys.modules.items() if name in ("torch", "numpy")]
    return list(dict.fromkeys([sys.prefix, sys.base_prefix, *packages, "/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime",
                               "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"]))


def become(uid: int) -> None:
    """Stop being root; what this process may then do to itself stays possible."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    _checked(_libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")  # else /proc/self, where a user namespace is set up, is root's


def _own_namespaces() -> None:
    """Go on as the first process of new namespaces."""
    uid, gid = os.getuid(), os.getgid()
    _checked(_libc.unshare(NEW_NAMESPACES), "unshare")
    for file, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{file}", "w") as map_:
            map_.write(text)
    if os.fork():
        os._exit(0)


def _own_files() -> None:
    """An empty folder of its own, and no /proc. Everything else is read-only already."""
    _mount(SCRATCH, NOSUID | NODEV | NOEXEC, "size=64m,nr_inodes=4096,mode=700")
    _mount("/proc", NOSUID | NODEV | NOEXEC | READ_ONLY, "size=4k,nr_inodes=2")


def _mount(place: str, flags: int, options: str) -> None:
    _checked(_libc.mount(b"tmpfs", place.encode(), b"tmpfs", ctypes.c_ulong(flags), options.encode()), f"mount {place}")


def _only_descriptor(channel: int) -> None:
    os.dup2(channel, CHANNEL, inheritable=False)
    os.closerange(CHANNEL + 1, 2**20)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)


def _drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _checked(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
