"""The sandbox: what a student's code cannot do from where it runs, tried from there; and that what is announced is what holds."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder import probe as probe_module
from autograder.probe import FACTS, choose, probe
from autograder.remote import Remote
from autograder.sandbox import SandboxError, Zygote
from autograder.worker import landlock
from autograder.worker.jail import BUBBLEWRAP, LANDLOCK, NONE, UID

from . import needs

ROOT = Path(__file__).resolve().parents[1]

# What a cell tries: each line is an attempt, true if it succeeds.
TRY = """
import ctypes, json, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def attempt(action):
    try:
        result = action()
        return result is not False
    except BaseException:
        return False
"""


@pytest.fixture(scope="module")
def zygote():
    if not shutil.which("bwrap"):
        needs.not_run("bubblewrap is missing", "`apt-get install bubblewrap`")
    try:
        zygote = Zygote(BUBBLEWRAP).wait()
    except SandboxError as error:
        needs.not_run(f"bubblewrap cannot make namespaces here ({error})", "the setting that your system names for user namespaces")
    yield zygote
    zygote.close()


def run(zygote: Zygote, code: str) -> str:
    """What a cell in a new child prints."""
    remote = Remote(zygote)
    try:
        ran = remote.run("cell", TRY + code, 30)
        assert ran.error is None, ran.error
        return ran.stdout
    finally:
        remote.kill()


def descendants(pid: int) -> list[int]:
    """All processes below this one, which is on this machine's own list."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        waiting += [child for child, known in parents.items() if known == parent]
        found.append(parent)
    return found[1:]


def wait_until(condition, seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


# What a child of the strongest isolation can do


def test_a_child_sees_only_what_python_needs(zygote):
    seen = json.loads(run(zygote, """
print(json.dumps({
    "root": sorted(os.listdir("/")), "scratch": os.listdir("/scratch"), "proc": os.listdir("/proc"), "dev": sorted(os.listdir("/dev")),
    "etc": sorted(os.listdir("/etc")) if os.path.exists("/etc") else [], "uid": os.getuid(), "pid": os.getpid(), "cwd": os.getcwd(),
    "environment": sorted(os.environ), "checkout": attempt(lambda: open(CHECKOUT)), "home": attempt(lambda: os.listdir(HOME)),
}))""".replace("CHECKOUT", repr(str(ROOT / "lessons" / "course.toml"))).replace("HOME", repr(os.path.expanduser("~/.ssh")))))
    assert seen["scratch"] == seen["proc"] == [] and seen["dev"] == ["null", "random", "urandom", "zero"]
    assert set(seen["etc"]) <= {"ld.so.cache", "localtime"} and seen["uid"] != 0 and seen["pid"] == 1 and seen["cwd"] == "/scratch"
    assert not seen["checkout"] and not seen["home"]
    assert set(seen["environment"]) <= {"PATH", "HOME", "TMPDIR", "USER", "LANG", "PYTHONPATH", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE",
                                        "OMP_NUM_THREADS", "MKL_NUM_THREADS", "MPLBACKEND", "PWD", "LC_CTYPE", "TORCHINDUCTOR_CACHE_DIR"}


ESCAPES = {
    "fork": "os.fork() or os._exit(0)", "exec": "os.execv('/usr/bin/env', ['env'])", "a socket": "socket.socket()",
    "a unix socket": "socket.socket(socket.AF_UNIX)", "a netlink socket": "socket.socket(16, 3, 0)",
    "a packet socket": "socket.socket(17, 3, 0)",
    "another user namespace": "call(272, 0x10000000)", "another mount namespace": "call(272, 0x00020000)",
    "a mount": "call(165, b'x', b'/scratch', b'tmpfs', 0, 0)",
    "an unmount": "call(166, b'/proc', 2)", "a pivot": "call(155, b'/scratch', b'/scratch')", "a chroot": "os.chroot('/scratch')",
    "root": "os.setuid(0)", "another user": "os.setuid(os.getuid() + 1)", "groups": "os.setgroups([0])", "ptrace": "call(101, 16, 1, 0, 0)",
    "a signal to all": "os.kill(-1, 9)", "a signal to 2": "os.kill(2, 0)", "keys": "call(250, 0, -4, 0)",
    "a new key": "call(248, b'user', b'x', b'y', 1, -4)",
    "shared memory": "call(29, 0, 4096, 0o1600)", "a memory file": "os.memfd_create('x')",
    "a message queue": "call(240, b'x', 0o102, 0o600, 0)",
    "bpf": "call(321, 0, 0, 0)", "perf": "call(298, 0, 0, -1, -1, 0)", "io_uring": "call(425, 1, 0)", "userfaultfd": "call(323, 0)",
    "a module": "call(175, 0, 0, b'')", "a device": "os.mknod('/scratch/d', 0o20666, os.makedev(1, 1))",
    "a file in /usr": "open('/usr/x', 'w')", "a file in /": "open('/x', 'w')", "a file in /dev": "open('/dev/x', 'w')",
    "a file beside torch": "open(os.path.join(os.path.dirname(__import__('torch').__file__), 'x'), 'w')",
    "a file in the worker's folder": "open(os.path.join(os.path.dirname(sys.modules['autograder'].__file__), 'x'), 'w')",
    "a file beyond the limit": "open('/scratch/large', 'wb').write(bytes(17 * 2**20)) == 17 * 2**20",
    "memory beyond the limit": "bytearray(5 * 2**30)", "the kernel's log": "call(103, 3, 0, 0)", "a hostname": "socket.sethostname('x')",
    "a higher limit": "__import__('resource').setrlimit(__import__('resource').RLIMIT_AS, (2**40, 2**40))",
    "a lock on a file": "__import__('fcntl').flock(open(torch.__file__), 2)",
    "a lease": "__import__('fcntl').fcntl(open(torch.__file__), 1024, 0)",
    "a watch on files": "call(294, 0)", "a large pipe": "__import__('fcntl').fcntl(os.pipe()[1], 1031, 2**20)",
    "another real user": "os.setresuid(os.getuid(), os.getuid(), os.getuid())",
    "real time": "os.sched_setscheduler(0, 1, os.sched_param(1))",
    "a disk": "open('/dev/sda', 'rb')", "its maps": "open('/proc/self/maps')", "advantagelab": "__import__('advantagelab')",
    "advantagelab by force": "[sys.modules.pop('advantagelab'), __import__('advantagelab.algorithms')]",
    "the lessons": "__import__('lessons')",
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="not run: the numbers of these calls are those of x86-64")
def test_a_child_cannot_do_what_leads_out(zygote):
    lines = ", ".join(f"{name!r}: attempt(lambda: {code})" for name, code in ESCAPES.items())
    did = json.loads(run(zygote, f"print(json.dumps({{{lines}}}))"))
    assert did == dict.fromkeys(ESCAPES, False)


def test_a_child_may_do_what_a_notebook_does(zygote):
    did = json.loads(run(zygote, """
import tempfile, threading
import matplotlib, statistics, wave
thread = threading.Thread(target=lambda: None)
print(json.dumps({
    "a file": attempt(lambda: tempfile.NamedTemporaryFile().write(b"x")), "a thread": attempt(lambda: [thread.start(), thread.join()]),
    "more threads of torch": attempt(lambda: [torch.set_num_threads(2), (torch.ones(2000, 2000) @ torch.ones(2000, 2000)).sum()]),
    "an optimizer": attempt(lambda: torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])),
    "dev/null": attempt(lambda: open(os.devnull, "w")),
    "a picture": attempt(lambda: __import__("matplotlib.pyplot").pyplot.figure().savefig(os.devnull, format="png")),
}))"""))
    assert all(did.values()), did


def test_children_do_not_meet(zygote):
    """Two at once: neither finds a file, a process or a socket of the other, and the second finds nothing the first one left."""
    first, second = Remote(zygote), Remote(zygote)
    try:
        left = first.run("leave", TRY + """
socket.socketpair()
print(attempt(lambda: open("/scratch/mine", "w").write("x")), os.getpid())
kept = [open(f"/scratch/{number}", "w") for number in range(50)]""", 30)
        found = second.run("look", TRY + "print(os.listdir('/scratch'), os.getpid(), attempt(lambda: os.kill(2, 0)))", 30)
    finally:
        first.kill()
        second.kill()
    assert left.stdout == "True 1\n" and found.stdout == "[] 1 False\n"
    assert run(zygote, "print(os.listdir('/scratch'))") == "[]\n"


def test_the_disk_of_a_child_is_small(zygote):
    written = run(zygote, """
total = 0
try:
    for number in range(10_000):
        with open(f"/scratch/{number}", "wb") as file:
            total += file.write(bytes(2**20))
except OSError as error:
    print(type(error).__name__, total // 2**20)""")
    kind, megabytes = written.split()
    assert kind == "OSError" and int(megabytes) <= 64


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: only root has another user to become")
def test_children_of_root_are_not_root(zygote):
    """Seen from outside, so that limits on users and the permissions of files count."""
    remote = Remote(zygote)
    try:
        users = {Path(f"/proc/{pid}/status").read_text().partition("Uid:")[2].split()[0] for pid in descendants(zygote._process.pid)}
    finally:
        remote.kill()
    assert users - {"0"} and run(zygote, "print(os.getuid())").strip() in users


def test_if_memory_runs_out_the_kernel_ends_a_child_first(zygote):
    before = set(descendants(zygote._process.pid))  # children of other tests, which may be about to end
    remote = Remote(zygote)
    try:
        made = [pid for pid in descendants(zygote._process.pid) if pid not in before]
        scores = [Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in made]
    finally:
        remote.kill()
    ours = [Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in (os.getpid(), zygote._process.pid)]
    assert "1000" in scores and "1000" not in ours


def test_a_killed_child_is_gone_with_its_threads(zygote):
    remote = Remote(zygote)
    remote.run("threads", "import threading, time\nfor _ in range(9): threading.Thread(target=time.sleep, args=(1000,)).start()", 30)
    before = set(descendants(zygote._process.pid))
    remote.kill()
    assert wait_until(lambda: len(set(descendants(zygote._process.pid))) < len(before))


def test_when_the_judge_is_killed_everything_ends(tmp_path):
    for isolation in (BUBBLEWRAP, NONE):  # uid and landlock end as none does
        if isolation == BUBBLEWRAP and not shutil.which("bwrap"):
            continue
        code = f"""
from autograder.remote import Remote
from autograder.sandbox import Zygote
remote = Remote(Zygote({isolation!r}).wait())
print("up", flush=True)
remote.run("endless", '''import ctypes, signal
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException: pass''', 1000)"""
        judge = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, 
                                 env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])})
        assert judge.stdout.readline() == b"up\n"
        below = descendants(judge.pid)
        assert len(below) >= 2
        judge.send_signal(signal.SIGKILL)
        judge.wait()
        judge.stdout.close()
        assert wait_until(lambda below=below: all(map(gone, below))), isolation


# What is announced, and what holds


@pytest.mark.parametrize("isolation, announced", [
    (BUBBLEWRAP, set(FACTS)), (UID, set(FACTS) - {"imports"}), (LANDLOCK, set(FACTS)), (NONE, {"network", "memory", "traces", "imports"}),
])
def test_each_isolation_holds_what_it_is_for(isolation, announced):
    """`uid` finds Python's files only where another user may read them, and hides the course's only by Landlock or by their permissions."""
    if isolation == BUBBLEWRAP and not shutil.which("bwrap"):
        needs.not_run("bubblewrap is missing", "`apt-get install bubblewrap`")
    if isolation in (UID, LANDLOCK) and not landlock.version():
        needs.not_run("this kernel has no Landlock", "a kernel of 5.13 or later with Landlock switched on")
    found = probe(isolation)
    if isolation == UID and os.geteuid() != 0:
        assert not found.safe and "root" in found.problem.en and "root" in found.problem.zh
        return
    assert found.problem is None
    assert {fact for fact, held in found.holds.items() if held} >= announced
    assert found.safe == all(found.holds.values()) and (isolation != NONE or not found.safe)


def test_an_isolation_that_cannot_start_says_why_in_both_languages(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    found = probe(BUBBLEWRAP)
    assert not found.safe and "bwrap" in found.problem.en and "bwrap" in found.problem.zh and found.holds == {}


def test_without_an_isolation_nothing_is_graded_unless_one_says_so(monkeypatch):
    monkeypatch.setattr(probe_module, "ISOLATIONS", (BUBBLEWRAP, NONE))
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(SandboxError) as refused:
        choose()
    assert "nothing is graded" in refused.value.said.en and "不进行评阅" in refused.value.said.zh
    zygote, name = choose(unsafe=True)
    zygote.close()
    assert name.startswith("none (does not hold: files")


def test_the_strongest_that_holds_is_chosen(monkeypatch):
    tried = []

    class Fake:
        def __init__(self, isolation):
            tried.append(isolation)
            self.isolation, self.closed = isolation, False

        def wait(self):
            return self

        def close(self):
            self.closed = True

    def facts(zygote):
        weak = {BUBBLEWRAP: ["files"], UID: ["files", "imports"], LANDLOCK: lacking, NONE: ["files", "processes"]}[zygote.isolation]
        return probe_module.Probe(zygote.isolation, None, {fact: fact not in weak for fact in FACTS})

    monkeypatch.setattr(probe_module, "Zygote", Fake)
    monkeypatch.setattr(probe_module, "probe_zygote", facts)
    lacking = []
    zygote, name = choose()
    assert (zygote.isolation, name, zygote.closed, tried) == (LANDLOCK, "landlock", False, [BUBBLEWRAP, UID, LANDLOCK])
    lacking = ["traces", "network"]
    with pytest.raises(SandboxError, match="landlock .does not hold: network, traces"):
        choose()
    zygote, name = choose(unsafe=True)
    assert (name, zygote.closed) == ("bubblewrap (does not hold: files)", False)
