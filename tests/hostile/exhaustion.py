"""Exhaustion: processes, threads, memory, disk, files, output, time, and notebooks that are bombs."""

import nbformat
from nbformat import NotebookNode

from .case import Attack


def many_cells(notebook: NotebookNode) -> None:
    notebook.cells[2:2] = [nbformat.v4.new_code_cell(f"x{number} = {number}", id=f"n{number}") for number in range(800)]


def many_copies(notebook: NotebookNode) -> None:
    (answer,) = [cell for cell in notebook.cells if cell.id == "leave-one-out-advantages"]
    notebook.cells += [nbformat.v4.new_code_cell(f"{answer.source}\n# {number}", id=f"c{number}") for number in range(400)]


def large_outputs(notebook: NotebookNode) -> None:
    """Five megabytes of them, and a widget's state."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("display_data", data={"text/html": "<b>x</b>" * 15_000, "image/png": "A" * 50_000})]
    notebook.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {str(n): {"a": "x" * 900} for n in range(999)}}}


def code_bombs(notebook: NotebookNode) -> None:
    """What is slow or deep to parse, to compile or to search."""
    bombs = ["(" * 50_000, "-" * 50_000 + "1", "x" + ".y" * 30_000, "a = " + "[" * 190, "if x:\n " * 3_000, "?\n" + " " * 200_000 + "x",
             "!" * 50_000, "f'{" * 5_000, "lambda: " * 9_000 + "0", "9" * 50_000, "In [1]: x\n" * 5_000, "%%time\n" * 9_000,
             "(((" * 30 + "x" + ")))" * 30, "get_ipython\n" + ("a" * 990 + "=\n") * 50, "\\\n" * 25_000, "'" * 49_999,
             "def f(" + "a," * 20_000 + "): pass"]
    notebook.cells[2:2] = [nbformat.v4.new_code_cell(bomb, id=f"bomb{number}") for number, bomb in enumerate(bombs)]


def formatted_string_bomb(notebook: NotebookNode) -> None:
    notebook.cells.insert(2, nbformat.v4.new_code_cell('f"' + "{1}" * 87_000 + '"', id="bomb"))


def deep_metadata(notebook: NotebookNode) -> None:
    inner = notebook.metadata
    for _ in range(150):
        inner["a"] = nbformat.NotebookNode()
        inner = inner["a"]


SLEEP = "import time\nwhile True:\n    try:\n        time.sleep(99)\n    except BaseException:\n        pass"

ATTACKS = [
    Attack("fork-bomb", "fork without end", cell="""
import subprocess, multiprocessing
for _ in range(20_000):
    if works(os.fork):
        gained("a process")
for start in (lambda: subprocess.Popen(["/bin/sleep", "1000"]), lambda: os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}),
              lambda: os.system("sleep 1000 &") == 0, lambda: multiprocessing.Process(target=print).start(), os.forkpty):
    if works(start):
        gained("a process")
"""),
    Attack("thread-bomb", "start threads without end", cell="""
import threading, time
threading.stack_size(65536)
started = 0
try:
    while started < 5_000:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        started += 1
except BaseException:
    pass
if started > 100:
    gained(f"{started} threads")
"""),
    Attack("memory", "ask for more memory than there is", cell="""
import mmap
kept = []
for more in (lambda: torch.empty(2**26), lambda: mmap.mmap(-1, 2**28), lambda: bytearray(2**33)):  # none of them fills what it gets
    try:
        while len(kept) < 300: kept.append(more())
    except (MemoryError, RuntimeError, OSError):
        pass
if len(kept) > 20:
    gained(f"{len(kept) / 4} GiB")
del kept
"""),
    Attack("disk", "fill the disk", cell="""
total = 0
for folder in {"/scratch", "/tmp", "/var/tmp", "/dev/shm", HOME, COURSE, os.getcwd()}:
    for number in range(200):
        try:
            with open(f"{folder}/{MARK}-{number}", "wb") as file:
                total += file.write(bytes(2**20))
        except OSError:
            break
if total > 70 * 2**20:
    gained(f"{total >> 20} MiB")
"""),
    Attack("inodes", "make files and folders until none are left", cell="""
made = 0
for folder in ("/scratch", "/tmp", "/dev/shm"):
    for number in range(6_000):
        if not works(os.mkdir, f"{folder}/{MARK}-d{number}"): break
        made += 1
if made > 5_000:
    gained(f"{made} folders")
"""),
    Attack("open-files", "open files, pipes and sockets until none are left", cell="""
import fcntl, socket
kept = []
for make in (lambda: open("/dev/null"), os.pipe, socket.socketpair, lambda: os.eventfd(0), lambda: __import__("select").epoll()):
    for _ in range(3_000):
        try:
            kept.append(make())
        except OSError:
            break
if len(kept) > 1_000:
    gained(f"{len(kept)} files")
del kept
"""),
    Attack("output-flood", "print a hundred million characters, and write as much past print", cell="""
print("A" * 10**8)
for _ in range(200_000): print("spam")
for stream in (1, 2): works(os.write, stream, bytes(10**7))
sys.__stdout__.write("x" * 10**6) if sys.__stdout__ else None
print("\\r" * 10**6, file=sys.stderr)
"""),
    Attack("endless-error", "raise an error of a million characters, with a thousand causes", right=(1, 2, 4), cell="""
error = ValueError("first")
for number in range(1_000):
    try:
        raise ValueError("x" * 1_000) from error
    except ValueError as again:
        error = again
""", answers={3: "raise ValueError('汉' * 10**6) from globals().get('error')"}, after="raise error"),
    Attack("sleeping-function", "sleep in a call, whatever interrupts it", right=(1, 2, 4), cell="pass", answers={3: SLEEP}),
    Attack("named-results", "the same in a dictionary", right=(1, 2, 4), cell="pass",
           answers={3: "t = torch.randn(999, dtype=torch.float64)\nreturn {'a': [t] * 20_000}"}),
    Attack("many-copies", "hand in four hundred copies of an answer", edit=many_copies),
    Attack("code-bombs", "hand in code that is slow to parse", edit=code_bombs),
]

SELDOM = [
    Attack("exec", "become another program", cell="""
works(os.execv, "/bin/sh", ["sh", "-c", "sleep 1000"])
works(os.execvp, "python3", ["python3"])
"""),
    Attack("spinning-threads", "keep every core busy", loses=True, cell="""
import threading, time
def spin():
    a = torch.randn(300, 300)
    while True: a @ a
for _ in range(60): works(threading.Thread(target=spin, daemon=True).start)
works(time.sleep, 9)
"""),
    Attack("memory-in-use", "fill the memory it can get", loses=True, cell="""
kept = []
try:
    while True: kept.append(b"x" * 2**26)
except MemoryError:
    if len(kept) > 70: gained(f"{len(kept) / 16} GiB")
"""),
    Attack("memory-in-a-function", "run out of memory within a call, each time", right=(1, 2, 4), cell="pass",
           answers={3: "kept = []\nwhile True: kept.append(torch.empty(2**26))"}),
    Attack("one-large-file", "write one file without end, also by holes and by allocation", cell="""
for name, write in (("end", lambda f: [f.write(bytes(2**20)) for _ in range(100)] and f.flush()), ("hole", lambda f: f.truncate(2**40)),
                    ("allocated", lambda f: os.posix_fallocate(f.fileno(), 0, 2**30))):
    for folder in ("/scratch", "/tmp", "/dev/shm"):
        if works(lambda: write(open(f"{folder}/{MARK}-{name}", "wb", buffering=0))):
            gained(name)
"""),
    Attack("pipes", "hold kernel memory in pipes", cell="""
import fcntl
kept = []
try:
    while True:
        read, write = os.pipe()
        kept.append((read, write))
        works(fcntl.fcntl, write, 1031, 2**20)
        os.set_blocking(write, False)
        while works(os.write, write, bytes(65536)): pass
except OSError:
    pass
for read, write in kept: os.close(read), os.close(write)
"""),
    Attack("output-flood-of-functions", "print in every call", right=(1, 2, 4), cell="pass",
           answers={3: "print('A' * 10**6)\nadvantages = advantages * 0"}),
    Attack("error-that-cannot-be-shown", "raise errors whose text, class or traceback ends the one who asks", right=(1, 2, 4), cell="""
class Evil(Exception):
    def __str__(self): os._exit(1)
    __repr__ = __str__
    @property
    def __traceback__(self): os._exit(1)
""", answers={3: "raise Evil()"}),
    Attack("recursion", "recurse until the stack is full, in Python and in C", cell="""
sys.setrecursionlimit(10**9)
def again(_): return sorted([1], key=again)
again(0)
""", after="def deeper(n): return deeper(n + 1)\ndeeper(0)"),
    Attack("own-limits", "take its own limits away, or make them nothing", cell="""
import resource
for limit in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
    if works(resource.setrlimit, limit, (-1, -1)):
        gained(f"limit {limit}")
for limit in (1, 7): works(resource.setrlimit, limit, (0, 0))
""", loses=True),
    Attack("stops-itself", "stop its own process in a call", right=(1, 3, 4), cell="pass",
           answers={2: "os.kill(os.getpid(), 19)"}),
    Attack("sleeping-cell", "sleep in a cell", cell=SLEEP),
    Attack("endless-loops", "loop in a cell and in every call, and switch the alarm off", right=(), cell="""
import signal
signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
while True: pass
""", answers=dict.fromkeys((1, 2, 3, 4), "while True: pass")),
    Attack("slow-pattern", "search with a pattern that never ends", cell="import re\nre.match('(a|a)*$', 'a' * 60 + 'b')"),
    Attack("slow-gradient", "sleep when a gradient is asked for", right=(1, 2, 3), cell="""
import time
class Sleeps(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x.clone()
    @staticmethod
    def backward(context, gradient): time.sleep(1000)
""", answers={4: "ratios = (new_logps - old_logps).exp()\nlosses = Sleeps.apply(-ratios * advantages)"}),
    Attack("huge-results", "return as much as a message holds, each time", right=(1, 2, 4), cell="pass",
           answers={3: "return torch.zeros(2**21)"}),
    Attack("nested-results", "return one tensor in a hundred thousand places", right=(1, 2, 4), cell="pass",
           answers={3: "t = torch.randn(64, dtype=torch.float64)\nreturn [t] * 80_000"}),
    Attack("results-to-broadcast", "return what broadcasts to a terabyte", right=(1, 2, 4), cell="pass",
           answers={3: "return torch.zeros(2**20, 1)"}),
    Attack("many-cells", "hand in eight hundred cells", edit=many_cells),
    Attack("large-outputs", "hand in megabytes of outputs", edit=large_outputs),
    Attack("formatted-string-bomb", "hand in a string that takes half a minute to parse", edit=formatted_string_bomb),
    Attack("deep-metadata", "hand in deep metadata", edit=deep_metadata),
]
