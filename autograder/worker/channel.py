"""What the judge and a student's process say to each other: messages of a small JSON object and two bodies, over one socket.

A message is three 32-bit lengths, then the object and the bodies. Whoever reads trusts none of it: lengths have limits, time has a limit,
and an object is checked by its reader. The judge asks {"id", "do", …}, the worker answers {"id", …}.
"""

import json
import socket
import struct
import time

READY = b"ready"  # what a zygote says, and each child, before anything else
LENGTHS = struct.Struct("<3I")
MAX_HEAD = 64 * 2**10
MAX_BODY = 16 * 2**20
MAX_STDOUT = 64 * 2**10  # characters that a cell may print; the rest is dropped
MAX_ERROR = 2 * 2**10  # bytes of an error's text, and of the line that raised it

# The errors that may cross, by name; another one crosses as the nearest of its bases, or as a RuntimeError.
ERRORS = (
    "ArithmeticError", "AssertionError", "AttributeError", "BufferError", "EOFError", "FileNotFoundError", "FloatingPointError",
    "ImportError", "IndentationError", "IndexError", "KeyError", "LookupError", "MemoryError", "ModuleNotFoundError", "NameError",
    "NotImplementedError", "OSError", "OverflowError", "PermissionError", "RecursionError", "RuntimeError", "StopIteration", "SyntaxError",
    "SystemExit", "TimeoutError", "TypeError", "UnboundLocalError", "UnicodeError", "ValueError", "ZeroDivisionError", "Exception",
)
# torch's settings that a function may leave changed, in the order and the words of advantagelab.checking.
SETTINGS = ("default dtype", "grad mode", "inference mode", "default device")


class Ended(Exception):
    """The other side is gone."""


class Garbled(Exception):
    """What came is no message."""


class Late(Exception):
    """Nothing whole came in time."""


class Channel:
    def __init__(self, connection: socket.socket):
        self._connection = connection

    def send(self, head: dict, first: bytes = b"", second: bytes = b"", deadline: float | None = None) -> None:
        """deadline: of time.monotonic(); None waits for ever."""
        text = json.dumps(head).encode("ascii")
        self._wait_until(deadline)
        try:
            self._connection.sendall(b"".join((LENGTHS.pack(len(text), len(first), len(second)), text, first, second)))
        except TimeoutError:
            raise Late from None
        except OSError as error:
            raise Ended from error

    def receive(self, deadline: float | None = None) -> tuple[dict, bytes, bytes]:
        head, first, second = LENGTHS.unpack(self._read(LENGTHS.size, deadline))
        if head > MAX_HEAD or first > MAX_BODY or second > MAX_BODY:
            raise Garbled("longer than a message may be")
        body = self._read(head + first + second, deadline)
        try:
            read = json.loads(body[:head].decode("ascii"))
        except (ValueError, RecursionError) as error:
            raise Garbled("not JSON") from error
        if type(read) is not dict:
            raise Garbled("not an object")
        return read, bytes(body[head:head + first]), bytes(body[head + first:])

    def close(self) -> None:
        self._connection.close()

    def _read(self, size: int, deadline: float | None) -> bytearray:
        data, filled = bytearray(size), 0
        with memoryview(data) as view:
            while filled < size:
                self._wait_until(deadline)
                try:
                    count = self._connection.recv_into(view[filled:])
                except TimeoutError:
                    raise Late from None
                except OSError as error:
                    raise Ended from error
                if not count:
                    raise Ended
                filled += count
        return data

    def _wait_until(self, deadline: float | None) -> None:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Late
            self._connection.settimeout(left)
