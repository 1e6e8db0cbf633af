"""Where a student's code runs: a warm process, the zygote, in an isolation, and a child of it for each submission. Linux only.

bubblewrap: the zygote sees the interpreter, its packages and the system's libraries, read-only, in namespaces of its own and not as root;
    each child has namespaces of its own within those, so it sees no process, no network and no file of the zygote or a neighbor.
uid: for containers, where bubblewrap may not make namespaces: run by root, each child is another, nameless user.
landlock: neither; the child is the same user. (Of root's child only the files are: its threads are another user's, and have a limit.)
none: as landlock, but the child may read what its user may.

In all of them a child cannot start a process, open a socket, or have more than the limits in worker/jail.py; outside bubblewrap it cannot
write to any file, and in `uid` and `landlock` the kernel's Landlock, where there is one, hides the same files as bubblewrap does.
`probe` says which of this holds on this machine, by trying.
"""

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from advantagelab.message import Message, message

from .worker.channel import READY, Channel
from .worker.jail import BUBBLEWRAP, LANDLOCK, NONE, SCRATCH, UID, UIDS

ISOLATIONS = (BUBBLEWRAP, UID, LANDLOCK, NONE)  # the strongest first
CODE = Path(__file__).parent
START_SECONDS, FORK_SECONDS = 120, 30
LIBRARIES = ("/lib", "/lib32", "/lib64", "/bin", "/sbin")
FILES = ("/etc/ld.so.cache", "/etc/localtime")
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
PACKAGES = ("torch", "numpy", "safetensors")


class SandboxError(Exception):
    """No process for a student's code could be made; it says nothing about the student. | 无法建立运行学生代码的进程，与学生无关。"""

    def __init__(self, said: Message):
        super().__init__(str(said))
        self.said = said


class Zygote:
    """A process in an isolation, warm after `wait`. It ends with the thread that made it, or with `close`.

    Processes that are forked from the one that made it may have children of it too.
    """

    def __init__(self, isolation: str):
        if not sys.platform.startswith("linux"):
            raise SandboxError(message(en="Grading needs Linux.", zh="评阅需要 Linux。"))
        self.isolation = isolation
        self._control, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()
        self._code = tempfile.TemporaryDirectory(prefix="autograder-")
        _copy_worker(Path(self._code.name))
        command, environment = _command(isolation, self._code.name)
        with theirs:
            try:
                self._process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=self._log, cwd="/",
                                                 env=environment, start_new_session=True)
            except OSError as error:
                raise self._failed(f"{command[0]}: {error}") from error

    def wait(self) -> "Zygote":
        """Until it is warm. SandboxError: it will not be."""
        self._control.settimeout(START_SECONDS)
        try:
            ready = self._control.recv(len(READY)) == READY
        except OSError:
            ready = False
        self._code.cleanup()
        if not ready:
            self._process.kill()
            self._process.wait()
            raise self._failed(self._log_tail())
        self._control.settimeout(FORK_SECONDS)
        return self

    def child(self) -> tuple[Channel, int]:
        """A new process: the channel to it, and the handle for `end`."""
        ours, theirs = socket.socketpair()
        said, handles = b"", []
        with theirs, contextlib.suppress(OSError):
            socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            theirs.close()
            ours.settimeout(FORK_SECONDS)
            said, handles, _, _ = socket.recv_fds(ours, 1000, 1)
        if said != READY or len(handles) != 1:
            ours.close()
            raise self._failed(said.decode("utf-8", "replace") or self._log_tail())
        return Channel(ours), handles[0]

    def alive(self, patience: float = 0.0) -> bool:
        """patience: seconds to wait for a sign of its end. It says nothing on its line, so all that can come is that the line is cut."""
        line = select.poll()
        line.register(self._control, select.POLLIN)
        return not line.poll(patience * 1000)

    def close(self) -> None:
        """End it, and with it all its children."""
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _failed(self, why: str) -> SandboxError:
        return SandboxError(message(en=f"The isolation {self.isolation} does not work here: {why}",
                                    zh=f"隔离方式 {self.isolation} 在这里不可用：{why}"))

    def _log_tail(self) -> str:
        self._log.seek(0)
        return self._log.read(100_000)[-1000:].decode("utf-8", "replace").strip() or "no answer | 没有回应"


def end(handle: int) -> None:
    """Kill a child for good, once."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    os.close(handle)


def _copy_worker(folder: Path) -> None:
    """The only part of the checkout that the zygote gets to see."""
    folder.chmod(0o755)
    package = folder / "autograder"
    (package / "worker").mkdir(parents=True)
    for file in (CODE / "__init__.py", CODE / "plain_data.py", *(CODE / "worker").glob("*.py")):
        shutil.copyfile(file, package / file.relative_to(CODE))


def _command(isolation: str, code: str) -> tuple[list[str], dict[str, str]]:
    root = os.geteuid() == 0
    if isolation == UID and not root:
        raise SandboxError(message(en="The isolation uid needs root.", zh="隔离方式 uid 需要 root。"))
    if isolation == BUBBLEWRAP and not shutil.which("bwrap"):
        raise SandboxError(message(en="bwrap is not installed (apt-get install bubblewrap).",
                                   zh="没有安装 bwrap（apt-get install bubblewrap）。"))
    packages = {str(Path(find_spec(name).origin).parents[1]) for name in PACKAGES}
    environment = {
        "PATH": "/usr/bin:/bin", "USER": "student", "LANG": "C.UTF-8", "PYTHONPATH": os.pathsep.join([code, *packages]),
        "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg",
    }
    if isolation == BUBBLEWRAP:
        environment |= {"HOME": SCRATCH, "TMPDIR": SCRATCH}
    else:
        environment |= {"HOME": "/", "TORCHINDUCTOR_CACHE_DIR": f"{code}/cache"}  # torch makes it when it is warmed, in /tmp if not told
    user = os.getpid() * 641 if isolation != BUBBLEWRAP else UIDS[os.getpid() % len(UIDS)] if root else 0
    python = [sys.executable, "-P", "-s", "-m", "autograder.worker.zygote", isolation, str(user)]
    return [*_bubblewrap(root, code, packages), *python] if isolation == BUBBLEWRAP else python, environment


def _bubblewrap(root: bool, code: str, packages: set[str]) -> list[str]:
    """As root no user namespace is made: the zygote becomes another user itself, so that limits on users count for it."""
    shown = list(dict.fromkeys(["/usr", sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent), *packages, code]))
    command = [shutil.which("bwrap"), "--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid", "--unshare-net",
               "--unshare-uts", "--unshare-cgroup-try"]
    command += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if root else ["--unshare-user"]
    parents = {folder for path in (*shown, *FILES, *DEVICES) for folder in Path(path).parents[:-1]}
    for folder in sorted(parents):  # bubblewrap would make them for root alone
        command += ["--perms", "0755", "--dir", str(folder)]
    for path in shown:
        command += ["--ro-bind", path, path]
    for path in LIBRARIES:
        command += ["--symlink", os.readlink(path), path] if Path(path).is_symlink() else ["--ro-bind-try", path, path]
    for path in FILES:
        command += ["--ro-bind-try", path, path]
    for path in DEVICES:
        command += ["--dev-bind", path, path]
    installed = [f"{folder}/advantagelab" for folder in packages if Path(folder, "advantagelab").is_dir()]
    for path in installed:
        command += ["--tmpfs", path]
    return [*command, "--proc", "/proc", "--perms", "1777", "--tmpfs", SCRATCH, "--remount-ro", "/", "--chdir", "/", "--"]
