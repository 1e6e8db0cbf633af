"""A seccomp filter: the system calls that a student's code is refused, with "operation not permitted".

No process but this one, no network, no signs to a neighbor, no memory outside the process's own limit, no other user, no doors into the
kernel; on request no change to any file.
Needs no privilege, and cannot be taken off again. Linux on x86-64 and 64-bit ARM.
"""

import ctypes
import errno
import os
import platform
import struct

# Numbers on x86-64 and on 64-bit ARM; None where there is no such call.
PROCESSES = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "kcmp": (312, 272), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "sched_setaffinity": (203, 122), "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
NETWORK = {"socket": (41, 198)}
# Neighbors see the same files of Python and torch: locks on them, and watching who opens them, would carry messages.
WATCHES = {"flock": (73, 32), "inotify_init": (253, None), "inotify_init1": (294, 26)}
# A memfd or a System V segment is memory that RLIMIT_AS does not count, and the latter outlives its process.
MEMORY = {
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
}
USERS = {
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143), "setresuid": (117, 147),
    "setresgid": (119, 149), "setfsuid": (122, 151), "setfsgid": (123, 152), "setgroups": (116, 159),
}
KERNEL = {
    "bpf": (321, 280), "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "open_tree_attr": (467, 467), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443), "acct": (163, 89), "swapon": (167, 224),
    "swapoff": (168, 225), "reboot": (169, 142), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "syslog": (103, 116), "lookup_dcookie": (212, 18),
    "fanotify_init": (300, 262), "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "mknod": (133, None),
    "mknodat": (259, 33),
}
WRITES = {
    "creat": (85, None), "openat2": (437, 437), "mkdir": (83, None), "mkdirat": (258, 34), "symlink": (88, None), "symlinkat": (266, 36),
    "link": (86, None), "linkat": (265, 37), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "unlink": (87, None),
    "unlinkat": (263, 35), "rmdir": (84, None), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "truncate": (76, 45), "utime": (132, None),
    "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "setxattrat": (463, 463),
    "removexattrat": (466, 466), "file_setattr": (469, 469),
}
CLONE, CLONE3, KILL, TGKILL, PRLIMIT64 = (56, 220), (435, 435), (62, 129), (234, 131), (302, 261)
OPEN, OPENAT, FCNTL, IOCTL, PRCTL = (2, None), (257, 56), (72, 25), (16, 29), (157, 167)

CLONE_THREAD = 0x10000
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
SIGNAL_OWNER = (8, 10, 15)  # fcntl's F_SETOWN, F_SETSIG, F_SETOWN_EX: a signal to whatever process
LOCKS = (6, 7, 37, 38, 1024, 1026)  # F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW, F_SETLEASE, F_NOTIFY: seen by others who open the file
PIPE_SIZE = (1031,)  # F_SETPIPE_SZ: what a pipe holds is memory that no limit counts
TERMINAL = (0x8901, 0x8902, 0x5412)  # ioctl's FIOSETOWN, SIOCSPGRP, and TIOCSTI, which types into a terminal
SURVIVAL = (1,)  # prctl's PR_SET_PDEATHSIG: who dies with its parent stays so

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
LOAD, EQUAL, GREATER_OR_EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; of an argument the lower half
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def column() -> int:
    """Which number of a pair is this machine's. OSError on a machine whose numbers are not known here."""
    if platform.machine() not in ARCHITECTURES:
        raise OSError(errno.ENOTSUP, f"no filter of system calls for {platform.machine()}, only for {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[platform.machine()][0]


def forbid(writes: bool) -> None:
    """Refuse the calls above to this process from now on; with `writes` also every change to a file. OSError if the kernel will not."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = _filter(column(), ARCHITECTURES[platform.machine()][1], writes)
    program = _Program(len(code) // 8, code)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def _filter(column: int, architecture: int, writes: bool) -> bytes:
    own, refuse, missing = os.getpid(), REFUSE | errno.EPERM, REFUSE | errno.ENOSYS
    code = [_step(LOAD, ARCHITECTURE), _step(EQUAL, architecture, 1, 0), _step(RETURN, refuse),
            _step(LOAD, NUMBER), _step(GREATER_OR_EQUAL, 0x40000000, 0, 1), _step(RETURN, refuse)]  # x86's other set of numbers

    def when(call: tuple, *rule: bytes) -> None:
        if call[column] is not None:
            code.extend([_step(EQUAL, call[column], 0, len(rule)), *rule])

    for group in (PROCESSES, NETWORK, WATCHES, MEMORY, USERS, KERNEL, WRITES if writes else {}):
        for call in group.values():
            when(call, _step(RETURN, refuse))
    when(CLONE3, _step(RETURN, missing))  # its flags lie in memory, where a filter cannot look: libc then calls clone
    when(CLONE, *_argument(0), _step(ANY_BIT, CLONE_THREAD, 1, 0), _step(RETURN, refuse), _step(RETURN, ALLOW))
    for call in (KILL, TGKILL):
        when(call, *_argument(0), _step(EQUAL, own, 1, 0), _step(RETURN, refuse), _step(RETURN, ALLOW))
    when(PRLIMIT64, *_argument(0), _step(EQUAL, 0, 2, 0), _step(EQUAL, own, 1, 0), _step(RETURN, refuse), _step(RETURN, ALLOW))
    for call, argument, values in ((FCNTL, 1, SIGNAL_OWNER + LOCKS + PIPE_SIZE), (IOCTL, 1, TERMINAL), (PRCTL, 0, SURVIVAL)):
        tests = [_step(EQUAL, value, len(values) - index, 0) for index, value in enumerate(values)]
        when(call, *_argument(argument), *tests, _step(RETURN, ALLOW), _step(RETURN, refuse))
    if writes:
        for call, flags in ((OPEN, 1), (OPENAT, 2)):
            when(call, *_argument(flags), _step(ANY_BIT, WRITING, 0, 1), _step(RETURN, refuse), _step(RETURN, ALLOW))
    return b"".join([*code, _step(RETURN, ALLOW)])


def _argument(number: int) -> list[bytes]:
    return [_step(LOAD, FIRST_ARGUMENT + 8 * number)]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction; the last two are how many of the next to skip."""
    return struct.pack("<HBBI", code, if_true, if_false, value)
