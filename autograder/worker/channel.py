"""What the judge and a student's process say to each other: messages of a small JSON object and two bodies, over one socket.

A message is three 32-bit lengths, then the object and the bodies. Whoever reads trusts none of it: lengths have limits, time has a limit,
and an object is checked by its reader. The judge asks {"id", "do", …}, the worker answers {"id", …}.
"""

import json
import select
import socket
import struct
import time

READY = b"ready"  # what a zygote says, and each child, before anything else
LENGTHS = struct.Struct("<3I")
MAX_HEAD = 64 * 2**10
MAX_BODY = 16 * 2**20
CHUNK = 64 * 2**10  # bytes that are read at once: most messages are shorter
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
        self._connection, self._come = connection, bytearray()  # what has come of messages that nobody has received yet

    def send(self, head: dict, first: bytes = b"", second: bytes = b"", deadline: float | None = None) -> None:
        """deadline: of time.monotonic(); None waits for ever."""
        text = json.dumps(head).encode("ascii")
        left = memoryview(b"".join((LENGTHS.pack(len(text), len(first), len(second)), text, first, second)))
        while left:
            try:
                left = left[self._connection.send(left, 0 if deadline is None else socket.MSG_DONTWAIT):]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)
            except OSError as error:
                raise Ended from error

    def receive(self, deadline: float | None = None) -> tuple[dict, bytes, bytes]:
        head, first, second = LENGTHS.unpack(self._take(LENGTHS.size, deadline))
        if head > MAX_HEAD or first > MAX_BODY or second > MAX_BODY:
            raise Garbled("longer than a message may be")
        body = self._take(head + first + second, deadline)
        try:
            read = json.loads(body[:head].decode("ascii"))
        except (ValueError, RecursionError) as error:
            raise Garbled("not JSON") from error
        if type(read) is not dict:
            raise Garbled("not an object")
        return read, body[head:head + first], body[head + first:]

    def close(self) -> None:
        self._connection.close()

    def _take(self, size: int, deadline: float | None) -> bytes:
        while len(self._come) < size:
            if deadline is not None:
                self._wait(select.POLLIN, deadline)
            try:
                data = self._connection.recv(max(CHUNK, size - len(self._come)))
            except OSError as error:
                raise Ended from error
            if not data:
                raise Ended
            self._come += data
        taken = bytes(self._come[:size])
        del self._come[:size]
        return taken

    def _wait(self, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._connection, event)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise Late
