"""What an isolation keeps a student's code from on this machine, found out by trying it from inside."""

import json
import os
import resource
import secrets
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from advantagelab.message import Message, message

from .remote import Remote, Stopped
from .sandbox import ISOLATIONS, NONE, SandboxError, Zygote
from .worker.jail import LIMITS

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 20.0
FACTS = {
    "files": message(en="reads no file of the course or of the one who grades", zh="读不到课程文件和评阅者的文件"),
    "network": message(en="reaches no network", zh="连不上网络"),
    "processes": message(en="sees, signals and starts no other process", zh="看不到其他进程，不能向它们发信号，也不能启动新进程"),
    "memory": message(en="gets no more memory and no more threads than its limits", zh="内存和线程数不超过上限"),
    "traces": message(en="leaves nothing behind for the next submission", zh="不给下一份提交留下任何东西"),
    "imports": message(en="can import what Python and its packages offer", zh="能导入 Python 及其软件包"),
}
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/scratch", str(ROOT))

# Runs as a student's cell. Each attempt is true if it succeeds.
ATTEMPTS = """
import json, os, signal, socket, subprocess, sys, threading

def succeeds(attempt, *arguments):
    try:
        return attempt(*arguments) is not False
    except BaseException:
        return False

def start_process():
    if os.fork() == 0:
        os._exit(0)

def start_threads():
    done = threading.Event()
    try:
        for _ in range(2 * MAX_THREADS):
            threading.Thread(target=done.wait).start()
    finally:
        done.set()

print(json.dumps({
    "files": succeeds(os.listdir, CHECKOUT) or any(succeeds(open, file) for file in FILES),
    "network": succeeds(socket.create_connection, ("127.0.0.1", PORT), 2),
    "processes": any([succeeds(start_process), succeeds(subprocess.run, ["/bin/true"]), succeeds(os.kill, JUDGE, 0),
                      succeeds(open, f"/proc/{JUDGE}/cmdline")]),
    "memory": succeeds(bytearray, 6 * 2**30) or succeeds(start_threads),
    "traces": [place for place in PLACES if succeeds(open, os.path.join(place, MARK), "w")],
    "imports": all(succeeds(__import__, name) for name in ("cmd", "plistlib", "sched", "wave")),
}))
"""
LOOK_BACK = """
import json, os
print(json.dumps([place for place in PLACES if os.path.exists(os.path.join(place, MARK))]))
"""


@dataclass(frozen=True)
class Probe:
    """problem: why the isolation cannot be started at all; holds: by the keys of FACTS."""

    isolation: str
    problem: Message | None
    holds: dict[str, bool]

    @property
    def safe(self) -> bool:
        return self.problem is None and all(self.holds.values())

    def __str__(self) -> str:
        lacking = ", ".join(fact for fact, held in self.holds.items() if not held)
        return f"{self.isolation} (does not hold: {lacking})" if lacking else self.isolation


def probe(isolation: str) -> Probe:
    try:
        zygote = Zygote(isolation).wait()
    except SandboxError as error:
        return Probe(isolation, error.said, {})
    try:
        return probe_zygote(zygote)
    finally:
        zygote.close()


def probe_zygote(zygote: Zygote) -> Probe:
    mark = f"autograder-{secrets.token_hex(8)}"
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.NamedTemporaryFile() as private:
        known = {"CHECKOUT": str(ROOT / "lessons"), "FILES": [private.name, str(ROOT / "lessons" / "course.toml"), __file__], "MARK": mark,
                 "PORT": listener.getsockname()[1], "JUDGE": os.getpid(), "PLACES": PLACES, "MAX_THREADS": LIMITS[resource.RLIMIT_NPROC]}
        try:
            did = _run(zygote, ATTEMPTS, known)
            left = _run(zygote, LOOK_BACK, known)
        except SandboxError as error:
            return Probe(zygote.isolation, error.said, {})
        except (Stopped, ValueError) as error:
            return Probe(zygote.isolation, message(en=f"The trial failed: {error}", zh=f"试运行失败：{error}"), {})
    for place in PLACES:
        try:
            os.unlink(os.path.join(place, mark))
        except FileNotFoundError:
            continue
        left.append(place)
    holds = {fact: not did[fact] for fact in FACTS if fact not in ("traces", "imports")}
    return Probe(zygote.isolation, None, {**holds, "traces": not left, "imports": did["imports"]})


def _run(zygote: Zygote, code: str, known: dict):
    remote = Remote(zygote)
    try:
        source = "".join(f"{name} = {value!r}\n" for name, value in known.items()) + code
        return json.loads(remote.run("probe", source, SECONDS).stdout)
    finally:
        remote.kill()


def choose(unsafe: bool = False, begun: Zygote | None = None) -> tuple[Zygote, str]:
    """A zygote in the strongest isolation that holds here, and what to call it; the holder closes it.

    begun: one that need not be started any more. SandboxError: none does. With `unsafe` the best there is.
    """
    problems, best = [], None
    for isolation in ISOLATIONS[:len(ISOLATIONS) if unsafe else ISOLATIONS.index(NONE)]:
        try:
            zygote = (begun if begun and begun.isolation == isolation else Zygote(isolation)).wait()
        except SandboxError as error:
            problems.append(error.said)
            continue
        found = probe_zygote(zygote)
        if found.safe:
            if best:
                best[0].close()
            return zygote, str(found)
        problems.append(found.problem or message(en=f"{found}.", zh=f"{found}。"))
        if unsafe and found.problem is None and (best is None or sum(found.holds.values()) > sum(best[1].holds.values())):
            zygote, best = (best[0] if best else None), (zygote, found)
        if zygote:
            zygote.close()
    if best:
        return best[0], str(best[1])
    raise SandboxError(message(
        en="No isolation works on this machine, so nothing is graded. " + " ".join(problem.en for problem in problems),
        zh="本机没有可用的隔离方式，不进行评阅。" + "".join(problem.zh for problem in problems)))
