"""Landlock: from now on this process reads only beneath the given folders, and writes nowhere. Needs no privilege; Linux 5.13 and later."""

import ctypes
import os
import struct

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
VERSION, PATH_BENEATH = 1, 1
READ = 1 << 2 | 1 << 3  # files, folders
# What each version of the interface added to what can be refused.
FILE_ACCESS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
TCP_SINCE, SCOPES_SINCE = 4, 6
BOTH = 0b11  # bind and connect; abstract sockets and signals to processes outside

_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """0 where the kernel has no Landlock, or it is switched off."""
    return max(0, _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION)))


def read_only_beneath(paths: list[str]) -> None:
    """Restrict this process; a path that it cannot reach is left out. OSError if the kernel will not."""
    has = version()
    files = sum(bits for since, bits in FILE_ACCESS.items() if since <= has)
    rules = struct.pack("<QQQ", files, BOTH if has >= TCP_SINCE else 0, BOTH if has >= SCOPES_SINCE else 0)
    size = 24 if has >= SCOPES_SINCE else 16 if has >= TCP_SINCE else 8
    ruleset = _checked(_libc.syscall(CREATE_RULESET, rules, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    for path in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            continue
        allowed = READ if os.path.isdir(path) else 1 << 2
        _checked(_libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("<Qi", allowed, place), ctypes.c_uint32(0)))
        os.close(place)
    _checked(_libc.prctl(38, 1, 0, 0, 0))  # PR_SET_NO_NEW_PRIVS
    _checked(_libc.syscall(RESTRICT_SELF, ruleset, ctypes.c_uint32(0)))
    os.close(ruleset)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    return result
