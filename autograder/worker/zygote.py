"""python -m autograder.worker.zygote ISOLATION UID: a process with torch warm, that forks a locked-up child for each submission.

It is told nothing about lessons, checks or students, and reads nothing that a child wrote. Its standard input is a socket to the judge:
with each byte comes one end of a socket pair, which is handed to a new child and closed here. The child sends on it a handle by which
the judge can end it, and from then on belongs to the student. When the judge hangs up, the zygote and all its children end.
"""

import gc
import importlib
import os
import signal
import socket
import sys

import torch

from . import jail
from .channel import READY, Channel
from .jail import UIDS
from .serve import INPUTS_DEPTH, Session, pack, serve

MAX_PROBLEM = 1000  # bytes of what the judge is told when a child cannot be locked up
# What students import besides torch: loaded once, before the fork.
COMMON = ("collections", "copy", "dataclasses", "functools", "itertools", "json", "math", "numpy", "random", "re", "statistics", "string",
          "time", "torch.nn", "torch.nn.functional", "torch.optim", "typing")


def main(isolation: str, uid: int) -> None:
    """uid: for bubblewrap the user to become, 0 to stay the present one; else the number in UIDS of the first child's user."""
    control = socket.socket(fileno=os.dup(0))
    if isolation == jail.BUBBLEWRAP and uid:
        jail.become(uid)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are not waited for
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is the judge's affair
    sys.modules["advantagelab"] = None  # an import of it fails, also where it is installed
    warm()
    gc.collect()
    gc.freeze()
    control.sendall(READY)
    children = 0
    while True:
        asked, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not asked:
            return
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.detach()  # its descriptor is closed with all others, and must not be by a destructor later
            child(isolation, descriptors[0], UIDS[(uid + children) % len(UIDS)])
        os.close(descriptors[0])
        children += 1


def child(isolation: str, descriptor: int, uid: int) -> None:
    """Never returns."""
    try:
        jail.lock(isolation, descriptor, uid)
        connection = socket.socket(fileno=jail.CHANNEL)
        handle = os.pidfd_open(os.getpid())
        socket.send_fds(connection, [READY], [handle])
        os.close(handle)
    except BaseException as error:
        os.write(jail.CHANNEL, f"{type(error).__name__}: {error}".encode()[:MAX_PROBLEM])
        os._exit(1)
    try:
        serve(Channel(connection))
    finally:
        os._exit(0)


def warm() -> None:
    """The first use of many parts of torch loads modules, half a second in all: before the fork, once."""
    for module in COMMON:
        importlib.import_module(module)
    torch.set_num_threads(1)
    torch.optim.Adam([torch.zeros(2, requires_grad=True)]).step()
    torch.set_default_device("cpu")
    torch.set_default_device(None)
    session, streams = Session(), (sys.stdout, sys.stderr)
    session.answer({"id": 0, "do": "run", "key": "warm", "seconds": 60}, b"def f(x):\n    print(x)\n    return x.exp(), 1 / x[0].item()")
    inputs = [[torch.ones(2, requires_grad=True)], {}]
    call = {"id": 1, "do": "call", "name": "f", "grad": True, "inner": [0], "spread": {}, "first": False}
    for grad in (False, True):
        session.answer({**call, "grad": grad}, pack(inputs, depth=INPUTS_DEPTH))
    session.answer({"id": 2, "do": "pull", "call": 1}, pack([torch.ones(2)]))
    session.answer({**call, "inner": [], "first": True}, pack([[1], {}], depth=INPUTS_DEPTH))
    sys.stdout, sys.stderr = streams


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
