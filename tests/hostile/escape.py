"""Escape: other processes, the network, the kernel, files; the neighbor, the zygote, and whoever is graded next."""

from .case import Attack

# The numbers of system calls are those of x86-64; elsewhere they are other calls, and refused or harmless.
CALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
"""
PLACES = """
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", "/usr", "/etc", "/scratch/..", HOME, COURSE, CHECKOUT, COURSE + "/submitted",
               COURSE + "/autograded", os.path.dirname(torch.__file__), *sys.path):
"""

ATTACKS = [
    Attack("kill-everything", "send SIGKILL to every process, one by one and all at once", cell="""
import signal
for number in (signal.SIGKILL, signal.SIGSTOP):
    for pid in (-1, VICTIM, os.getppid(), -os.getppid(), 1 if os.getpid() != 1 else -1, *range(2, 3_000)):
        if pid != os.getpid():
            works(os.kill, pid, number)
    works(os.killpg, 0, 0) and os.getpgrp() != os.getpid() and works(os.killpg, os.getppid(), number)
"""),
    Attack("signal-the-parent", "signal the parent by every call there is", cell=CALL + """
import signal
for pid in (VICTIM, os.getppid() or VICTIM):
    for call in ((62, pid, 15), (200, pid, 15), (234, pid, pid, 15), (129, pid, 15, bytes(128)), (297, pid, pid, 15, bytes(128))):
        if libc.syscall(*call) == 0:
            gained(call[0])
    if works(lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 15)):
        gained("pidfd")
    import fcntl
    for command in (8, 15, 10):
        if works(lambda: fcntl.fcntl(3, command, pid)):
            gained("an owner of signals")
"""),
    Attack("namespaces", "make namespaces, mounts and another root", cell=CALL + """
for flags in (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x08000000, 0x02000000, 0x10020000):
    if libc.unshare(flags) == 0:
        gained(hex(flags))
for call in ((165, b"none", b"/scratch", b"tmpfs", 0, b""), (166, b"/proc", 2), (155, b"/scratch", b"/scratch"), (161, b"/scratch"),
             (430, b"tmpfs", 0), (428, -100, b"/", 1), (272, 0x10000000), (308, 0, 0)):
    if libc.syscall(*call) >= 0:
        gained(call[0])
"""),
    Attack("interrupt-80", "reach them by the interrupt of 32-bit Linux", cell="""
import ctypes, mmap, platform
if platform.machine() == "x86_64":
    code = mmap.mmap(-1, 4096, prot=7)
    code.write(b"\\xb8\\x02\\x00\\x00\\x00\\xcd\\x80\\xc3")  # mov eax, 2 (fork); int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    if ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0:
        gained("a process")
"""),
    Attack("write-everywhere", "write files wherever they might outlive it", cell=PLACES + """\
    for flags in (os.O_WRONLY | os.O_CREAT, os.O_RDWR | getattr(os, "O_TMPFILE", 0)):
        try:
            os.open(f"{folder}/{MARK}" if flags & os.O_CREAT else folder, flags, 0o666)
            gained(folder)
        except OSError:
            pass
    for change in (lambda: os.mkdir(f"{folder}/{MARK}d"), lambda: os.symlink("/etc/passwd", f"{folder}/{MARK}l"),
                   lambda: os.mkfifo(f"{folder}/{MARK}p"), lambda: os.link("/usr/bin/env", f"{folder}/{MARK}h"),
                   lambda: os.chmod(folder, 0o777), lambda: os.rename(folder, folder + MARK), lambda: os.utime(folder),
                   lambda: os.setxattr(folder, "user.x", b"x")):
        if works(change):
            gained(folder)
"""),
    Attack("other-submissions", "change what others handed in, their scores and their feedback", cell="""
import glob
for file in glob.glob(COURSE + "/**", recursive=True) + [COURSE + "/submitted", COURSE + "/gradebook.db", COURSE + "/nbgrader_config.py"]:
    if works(lambda: open(file, "r+b")) or works(os.unlink, file):
        gained(os.path.basename(file))
"""),
    Attack("network", "call home", cell="""
import socket, urllib.request
for family, kind, address in (("INET", "STREAM", ("127.0.0.1", PORT)), ("INET", "DGRAM", ("127.0.0.1", PORT)),
                              ("INET6", "STREAM", ("::1", PORT)), ("UNIX", "STREAM", SOCKET), ("UNIX", "STREAM", "\\0" + MARK),
                              ("NETLINK", "RAW", (0, 0))):
    if works(lambda: socket.socket(getattr(socket, f"AF_{family}"), getattr(socket, f"SOCK_{kind}")).connect(address)):
        gained(family)
if works(urllib.request.urlopen, f"http://127.0.0.1:{PORT}", None, 2) or works(socket.getaddrinfo, "example.org", 80):
    gained("http")
"""),
    Attack("network-by-a-pair", "turn a pair of sockets, or the channel, into a way out", cell="""
import socket
for pair in (socket.socketpair(), [socket.socket(fileno=os.dup(3))]):
    for end in pair:
        for address in (SOCKET, "\\0" + MARK):
            if works(lambda: end.connect(address)) or works(lambda: end.sendto(b"secret", address)):
                gained("a way out")
        if works(end.listen):
            gained("a listener")
left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for address in (SOCKET + "d", "\\0" + MARK + "d"):
    if works(left.connect, address) or works(left.sendto, b"secret", address):
        gained("a datagram")
"""),
    Attack("shared-memory", "leave shared memory, semaphores, queues and keys", cell=CALL + """
from multiprocessing import shared_memory
for call in ((29, 0x5eed, 4096, 0o1666), (64, 0x5eed, 1, 0o1666), (68, 0x5eed, 0o1666), (319, b"x", 0),
             (240, MARK.encode(), 0o102, 0o666, 0), (248, b"user", MARK.encode(), b"x", 1, -4), (250, 0, -4, 0), (250, 1, MARK.encode())):
    if libc.syscall(*call) >= 0:
        gained(call[0])
if works(shared_memory.SharedMemory, MARK, True, 4096):
    gained("shared memory")
"""),
    Attack("locks", "hold locks and leases on files that others use, or see who holds them", cell="""
import fcntl
for file in (torch.__file__, "/usr/bin/env", os.__file__):
    opened = open(file)
    if works(fcntl.flock, opened, fcntl.LOCK_EX | fcntl.LOCK_NB):
        gained("flock")
    if works(lambda: fcntl.fcntl(opened, 1024, fcntl.F_RDLCK)):
        gained("a lease")
    if works(lambda: fcntl.lockf(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)):
        gained("lockf")
    if works(lambda: fcntl.fcntl(opened.fileno(), 37, b"\\0" * 32)):
        gained("a lock of the open file")
folder = os.open(os.path.dirname(torch.__file__), os.O_RDONLY)
if works(lambda: fcntl.fcntl(folder, 1026, 1 << 31)):
    gained("notices of changes")
"""),
    Attack("poisoned-for-the-next", "change modules, environment, limits and hooks that the next one might inherit", cell="""
import builtins, json, linecache, random, struct
os.environ["PYTHONSTARTUP"] = os.environ["LD_PRELOAD"] = MARK
torch.poisoned = builtins.poisoned = random.poisoned = sys.poisoned = MARK
sys.modules["statistics"] = None
works(os.nice, 19), works(os.umask, 0o777)
"""),
    Attack("poison-found", "find what another one left: modules, environment, files, keys, shared memory", cell="""
import builtins, glob, statistics
if hasattr(torch, "poisoned") or hasattr(builtins, "poisoned") or hasattr(sys, "poisoned") or os.environ.get("LD_PRELOAD"):
    gained("a poisoned module")
if os.getcwd() == "/scratch" and os.listdir("."):
    gained("traces")
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/scratch", "/run"):
    if glob.glob(f"{folder}/{MARK}*"):
        gained("files")
"""),
]

SELDOM = [
    Attack("debug", "attach to the parent and to another process, and write into their memory", cell=CALL + """
for pid in (VICTIM, os.getppid()):
    for request in (16, 0x4206):
        if pid and libc.ptrace(request, pid, 0, 0) == 0:
            gained("ptrace")
    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    if libc.process_vm_readv(pid, vector, 1, (ctypes.c_size_t * 2)(0x400000, 8), 1, 0) > 0:
        gained("memory")
    if works(open, f"/proc/{pid}/mem", "r+b"):
        gained("mem")
"""),
    Attack("another-abi", "reach forbidden calls by the 32-bit doors", cell=CALL + """
if libc.syscall(0x40000000 + 57) > 0 or libc.syscall(0x40000000 + 41, 2, 1, 0) >= 0:
    gained("x32")
"""),
    Attack("another-user", "become root or anyone else", cell=CALL + """
for change, wanted in ((os.setuid, 0), (os.setgid, 0), (os.seteuid, 0), (os.setgroups, [0]), (os.setuid, os.getuid() + 1)):
    if os.getuid() != 0 and works(change, wanted):
        gained(change.__name__)
"""),
    Attack("daemon", "stay behind as a daemon", cell="""
import signal, threading, time
for number in range(1, 65):
    works(signal.signal, number, signal.SIG_IGN)
works(os.setsid)
if works(os.fork):
    gained("a daemon")
def stay():
    while True: works(time.sleep, 1000)
for _ in range(5): threading.Thread(target=stay).start()
import ctypes
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
"""),
    Attack("zygote", "find the process it was forked from, and its line to the judge", cell="""
import ctypes, socket
for number in (*range(3), *range(4, 300)):
    if works(os.write, number, b"f" * 50) and number > 2:
        gained(f"a file {number}")
if works(os.listdir, f"/proc/{os.getppid() or 1}/fd") or works(open, f"/proc/{os.getppid() or 1}/environ"):
    gained("the zygote")
"""),
    Attack("neighbors-processes", "see the processes of neighbors", cell="""
seen = [name for name in (os.listdir("/proc") if works(os.listdir, "/proc") else []) if name.isdigit() and int(name) != os.getpid()]
if seen or any(works(os.kill, pid, 0) for pid in range(2, 3_000) if pid != os.getpid()):
    gained("a neighbor")
"""),
    Attack("kernel", "open the kernel's other doors", cell=CALL + """
for call in ((321, 0, bytes(128), 128), (298, bytes(128), 0, -1, -1, 0), (425, 1, bytes(128)), (323, 0), (175, 0, 0, b""),
             (246, 0, 0, 0, 0), (300, 0, 0), (103, 3, 0, 0), (163, b"/scratch/acct"), (310, 1, 0, 0, 0, 0, 0), (172, 3),
             (154, 1, bytes(16), 16), (312, 1, 1, 0, 0, 0), (304, 0, bytes(128), 0)):
    if libc.syscall(*call) >= 0:
        gained(call[0])
for name in ("mem", "kmsg", "fuse", "kvm", "tty", "ptmx", "net/tun", "sda", "vda", "loop-control"):
    if works(open, f"/dev/{name}", "rb"):
        gained(name)
"""),
    Attack("priority", "take the processor for itself", cell=CALL + """
for call in ((144, 0, 1, (ctypes.c_int * 1)(1)), (141, 0, 0, -10), (251, 1, 0, 1 << 13), (203, VICTIM, 8, b"\\1" + b"\\0" * 7)):
    if libc.syscall(*call) == 0:
        gained(call[0])
"""),
]
