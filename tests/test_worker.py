"""The worker's parts: messages that are cut, endless or garbage; the filter of system calls; what a locked-up process may do."""

import errno
import fcntl
import json
import os
import random
import resource
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest
import torch

from autograder.plain_data import MAX_DEPTH, pack, unpack
from autograder.remote import ENDED, ENLARGED, GARBLED, LATE, RAISED, Remote, Stopped
from autograder.worker import jail, landlock, seccomp
from autograder.worker.channel import LENGTHS, MAX_BODY, MAX_HEAD, MAX_STDOUT, Channel, Ended, Garbled, Late

INPUTS_DEPTH = MAX_DEPTH + 2


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    ours.close()
    theirs.close()


def soon(seconds: float = 0.2) -> float:
    return time.monotonic() + seconds


def frame(head, first: bytes = b"", second: bytes = b"") -> bytes:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return LENGTHS.pack(len(text), len(first), len(second)) + text + first + second


# Messages


def test_messages_come_as_they_went(ends):
    channel, theirs = ends
    other = Channel(theirs)
    for message in (({"id": 1, "汉": [None, 1.5]}, b"", b""), ({}, b"\0" * 1000, b"x"), ({"a": "\ud800"}, b"", bytes(range(256)))):
        channel.send(*message, deadline=soon(30))
        assert other.receive() == message
        other.send(*message)
        assert channel.receive(soon(30)) == message


def test_the_largest_message_crosses(ends):
    channel, theirs = ends
    sender = threading.Thread(target=Channel(theirs).send, args=({}, b"a" * MAX_BODY, b"b" * MAX_BODY))
    sender.start()
    head, first, second = channel.receive(soon(60))
    sender.join()
    assert head == {} and len(first) == len(second) == MAX_BODY and first[-1:] == b"a" and second[:1] == b"b"


@pytest.mark.parametrize("data", [
    LENGTHS.pack(MAX_HEAD + 1, 0, 0), LENGTHS.pack(0, MAX_BODY + 1, 0), LENGTHS.pack(0, 0, MAX_BODY + 1), b"\xff" * 12, frame(b""),
    frame(b"nothing"),
    frame(b"[1]"), frame(b"null"), frame(b"{} {}"), frame(b"{" * 100_000), frame(b"[" * 100_000), frame('{"a": "é"}'.encode()),
    frame(b"\xff\xfe{}"),
    frame(b'{"a": ' + b"1" * 100_000 + b"}"), frame(b'{"a": 1,}'),
], ids=range(15))
def test_what_is_no_message_is_garbled(ends, data):
    channel, theirs = ends
    sender = threading.Thread(target=theirs.sendall, args=(data,))
    sender.start()
    with pytest.raises(Garbled):
        channel.receive(soon(30))
    sender.join()


@pytest.mark.parametrize("data", [b"", b"\1", LENGTHS.pack(2, 5, 0), LENGTHS.pack(2, 5, 0) + b"{}abcd", LENGTHS.pack(0, 0, MAX_BODY)])
def test_a_message_that_is_cut_short_is_late_or_ended(ends, data):
    channel, theirs = ends
    theirs.sendall(data)
    with pytest.raises(Late):
        channel.receive(soon())
    theirs.close()
    with pytest.raises(Ended):
        channel.receive(soon(30))


def test_a_message_that_trickles_is_late_however_often_a_byte_comes(ends):
    channel, theirs = ends
    theirs.sendall(LENGTHS.pack(2, 10_000, 0))
    stop = threading.Event()

    def trickle():
        while not stop.wait(0.01):
            theirs.sendall(b"{")

    sender = threading.Thread(target=trickle)
    sender.start()
    with pytest.raises(Late):
        channel.receive(soon(0.4))
    stop.set()
    sender.join()


def test_who_does_not_read_makes_the_sender_late_not_stuck(ends):
    channel, theirs = ends
    with pytest.raises(Late):
        channel.send({}, b"x" * MAX_BODY, deadline=soon())
    with pytest.raises(Late):
        channel.receive(time.monotonic() - 1)
    theirs.close()
    with pytest.raises((Ended, Late)):
        channel.send({}, b"x" * MAX_BODY, deadline=soon(30))


# The judge against a worker that says what it likes


class Scripted:
    """In place of a zygote: the child is a `sleep`, and the other end of its channel is the test's."""

    def __init__(self):
        ours, self.theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.process = subprocess.Popen(["sleep", "1000"])

    def child(self):
        return self.channel, os.pidfd_open(self.process.pid)


@pytest.fixture
def scripted():
    scripted = Scripted()
    yield scripted
    scripted.process.kill()
    scripted.process.wait()
    scripted.theirs.close()


ONES = pack(torch.ones(2))
CALLED = {"id": 1, "settings": [], "touched": []}


@pytest.mark.parametrize("answer, said", [
    (b"", ENDED), (b"\0" * 11, ENDED), (frame({"id": 1})[:-1], ENDED), (b"\xff" * 100, GARBLED), (frame({"id": 2}), GARBLED),
    (frame({}), GARBLED),
    (frame({"id": 1.0}), GARBLED), (frame({"id": True}), GARBLED), (frame({"id": "1"}), GARBLED), (frame({"id": [1]}), GARBLED),
    (frame({**CALLED, "settings": None}), GARBLED), (frame({**CALLED, "settings": [1]}), GARBLED),
    (frame({**CALLED, "settings": {"a": 1}}), GARBLED),
    (frame({**CALLED, "error": []}), GARBLED), (frame({**CALLED, "error": [1, 2, 3]}), GARBLED), (frame({**CALLED, "error": {}}), GARBLED),
    (frame({**CALLED, "error": ["BaseException", "", ""]}), GARBLED), (frame({**CALLED, "error": ["Stopped", "", ""]}), GARBLED),
    (frame({**CALLED, "error": [[], "", ""]}), GARBLED), (frame({**CALLED, "error": ["ValueError", None, ""]}), GARBLED),
    (frame({**CALLED, "not_plain": None}), GARBLED), (frame({**CALLED, "not_plain": "x" * 3000}), GARBLED),
    (frame({**CALLED, "touched": None}), GARBLED), (frame({**CALLED, "touched": [1]}), GARBLED),
    (frame({**CALLED, "touched": ["0"]}), GARBLED),
    (frame(CALLED, b"1234"), GARBLED), (frame(CALLED, ONES[:-1]), GARBLED), (frame(CALLED, ONES + b"\0"), GARBLED),
    (frame(CALLED, ONES, b"1234"), GARBLED),
], ids=range(29))
def test_an_answer_of_another_form_ends_the_process_for_good(scripted, answer, said):
    remote = Remote(scripted)
    remote.begin(30)
    scripted.theirs.sendall(answer)
    if said == ENDED:
        scripted.theirs.shutdown(socket.SHUT_WR)
    for _ in range(2):
        with pytest.raises(Stopped) as stopped:
            remote.function("f")(torch.ones(2))
        assert stopped.value.said == said and not isinstance(stopped.value, ValueError)
    assert scripted.process.wait(30) == -signal.SIGKILL


@pytest.mark.parametrize("changed", [
    [[torch.ones(3)], {}], [[1], {}], [[], {}], [1], 3, [[torch.ones(2, dtype=torch.int64)], {}], [[torch.ones(2)] * 2, {"a": 1}],
    {"a": 1}, "x", None,
    [{"a": 1}, [1]], [[[torch.ones(2)]], {}], [[torch.ones(2, 1)], {}], [[torch.ones(2, dtype=torch.float64)], {}], [[None], {}],
], ids=range(15))
def test_lies_about_inputs_change_at_most_the_inputs(scripted, changed):
    remote = Remote(scripted)
    remote.begin(30)
    x, bystander = torch.zeros(2), torch.zeros(2)
    scripted.theirs.sendall(frame(CALLED, ONES, pack(changed, depth=INPUTS_DEPTH)))
    assert remote.function("f")(x).tolist() == [1, 1]
    assert bystander.tolist() == [0, 0] and remote.overwrote


@pytest.mark.parametrize("changed", [
    [[torch.zeros(1000)], {}], [[torch.zeros(0, 1000)], {}], [["x" * 1000], {}], [[torch.zeros(2), [0] * 200], {}], [[[()] * 200], {}],
    [[torch.zeros(2)], {"x" * 1000: 1}], [[[torch.zeros(50)] * 4], {}], [0] * 200,
], ids=range(8))
def test_inputs_that_grow_end_the_process_and_nothing_is_changed_here(scripted, changed):
    remote = Remote(scripted)
    remote.begin(30)
    x = torch.zeros(2)
    scripted.theirs.sendall(frame(CALLED, ONES, pack(changed, depth=INPUTS_DEPTH)))
    with pytest.raises(Stopped) as stopped:
        remote.function("f")(x)
    assert stopped.value.said == ENLARGED and x.tolist() == [0, 0]


def test_inputs_with_other_values_have_them_here_whatever_was_done_there(scripted):
    remote = Remote(scripted)
    remote.begin(30)
    x, row, rows = torch.zeros(2), (1, "a", torch.zeros(1)), [None, {"b": 1.0}]
    changed = [[torch.tensor([3.0, 4.0]), [(2, None, torch.ones(1))], rows], {}]
    scripted.theirs.sendall(frame(CALLED, ONES, pack(changed, depth=INPUTS_DEPTH)))
    given = [row]
    assert remote.function("f")(x, given, [True, {"b": 2.0}]).tolist() == [1, 1]
    assert x.tolist() == [3, 4] and given[0][:2] == (2, None) and given[0][2] is row[2] and row[2].tolist() == [1] and remote.overwrote


def test_a_second_answer_is_not_the_answer_to_the_next_question(scripted):
    remote = Remote(scripted)
    remote.begin(30)
    scripted.theirs.sendall(frame(CALLED, ONES) * 2)
    assert remote.function("f")(1).tolist() == [1, 1]
    with pytest.raises(Stopped):
        remote.function("f")(1)
    assert remote.stopped.said == GARBLED


def test_no_answer_is_late(scripted):
    remote = Remote(scripted)
    remote.begin(0.2)
    with pytest.raises(Stopped) as stopped:
        remote.function("f")(1)
    assert stopped.value.said == LATE


@pytest.mark.parametrize("gradients, said", [
    (torch.ones(2), GARBLED), ([], GARBLED), ([torch.ones(2)], GARBLED), ([torch.ones(2)] * 3, GARBLED),
    ([torch.ones(2), torch.ones(3)], GARBLED),
    ([torch.ones(2), 0.0], GARBLED), ([torch.ones(2, dtype=torch.float64), None], GARBLED), ([torch.ones(1), None], GARBLED),
    ([torch.tensor(1.0), None], GARBLED), (["a", None], GARBLED), ([torch.ones(2, dtype=torch.bool), None], GARBLED),
    ([torch.ones(2), torch.ones(2)], GARBLED),  # the second input asked for none
], ids=range(12))
def test_gradients_of_another_form_end_the_process(scripted, gradients, said):
    remote = Remote(scripted)
    remote.begin(30)
    x, y = torch.zeros(2, requires_grad=True), torch.zeros(2)
    scripted.theirs.sendall(frame(CALLED, pack(torch.ones(2, requires_grad=True))))
    got = remote.function("f")(x, y)
    scripted.theirs.sendall(frame({"id": 2}, pack(gradients)))
    with pytest.raises(Stopped) as stopped:
        torch.autograd.grad(got.sum(), x)
    assert stopped.value.said == said


def test_gradients_may_be_missing_nan_or_infinite(scripted):
    remote = Remote(scripted)
    remote.begin(30)
    for number, gradient in enumerate((None, torch.full((2,), float("nan")), torch.full((2,), float("inf")))):
        x = torch.zeros(2, requires_grad=True)
        scripted.theirs.sendall(frame({**CALLED, "id": 2 * number + 1}, pack(torch.ones(2, requires_grad=True))))
        got = remote.function("f")(x)
        scripted.theirs.sendall(frame({"id": 2 * number + 2}, pack([gradient])))
        (found,) = torch.autograd.grad(got.sum(), x, allow_unused=True)
        assert found is gradient is None or str(found) == str(gradient)


def test_a_cells_answer_of_another_form_ends_the_process():
    for answer in ({}, {"error": "x"}, {"error": []}, {"error": ["ValueError", "x" * 3000, ""]}, {"error": True}):
        scripted = Scripted()
        remote = Remote(scripted)
        scripted.theirs.sendall(frame({"id": 1, **answer}))
        with pytest.raises(Stopped):
            remote.run("key", "x = 1", 10)
        assert scripted.process.wait(30) == -signal.SIGKILL
        scripted.theirs.close()


def test_what_a_cell_printed_is_cut_and_decoded_whatever_it_is():
    for printed, shown in ((b"\xff\xfe", "\ufffd\ufffd"), (b"x" * 100_000, "x" * (MAX_STDOUT + 10)), ("汉".encode() * 3, "汉汉汉")):
        scripted = Scripted()
        remote = Remote(scripted)
        scripted.theirs.sendall(frame({"id": 1, "error": None}, printed))
        assert remote.run("key", "x = 1", 10).stdout == shown
        remote.kill()
        scripted.process.wait(30)
        scripted.theirs.close()


def test_2000_mutated_answers_give_a_value_an_error_that_may_cross_or_the_end():
    rng = random.Random(5)
    originals = [
        frame(CALLED, pack([torch.ones(2, requires_grad=True), {"a": (1, "x")}]), pack([[torch.ones(2)], {}], depth=INPUTS_DEPTH)),
        frame({**CALLED, "error": ["ValueError", "a | b", "x = 1"], "settings": ["grad mode"], "touched": [0]}),
        frame({**CALLED, "not_plain": "value: set"}, b"", pack([[torch.zeros(2)], {}], depth=INPUTS_DEPTH)),
    ]
    scripted, outcomes = Scripted(), {"value": 0, "error": 0, "stopped": 0}
    for _ in range(2000):
        data = bytearray(rng.choice(originals))
        for _ in range(rng.choice((1, 1, 2, 4))):
            data[rng.randrange(len(data))] = rng.choice((rng.randrange(256), ord(rng.choice('"[]{},:0123456789'))))
        ours, theirs = socket.socketpair()
        scripted.channel = Channel(ours)
        remote = Remote(scripted)
        remote.begin(30)
        theirs.sendall(bytes(data))
        theirs.shutdown(socket.SHUT_WR)
        try:
            remote.function("f")(torch.zeros(2, requires_grad=True))
            outcomes["value"] += 1
        except Stopped:
            outcomes["stopped"] += 1
        except tuple(RAISED.values()):
            outcomes["error"] += 1
        remote.stopped = remote.stopped or Stopped(ENDED)
        theirs.close()
        ours.close()
    scripted.process.kill()
    scripted.process.wait()
    assert min(outcomes.values()) > 20, outcomes


# The filter of system calls


def decide(code: bytes, machine: int, number: int, *arguments: int) -> int:
    """What the kernel would do with a call: an interpreter of the filter."""
    data = struct.pack("<IIQ6Q", number, machine, 0, *[argument % 2**64 for argument in (*arguments, *[0] * 6)[:6]])
    place, value = 0, 0
    while True:
        step, if_true, if_false, operand = struct.unpack_from("<HBBI", code, 8 * place)
        place += 1
        if step == seccomp.LOAD:
            value = struct.unpack_from("<I", data, operand)[0]
        elif step == seccomp.RETURN:
            return operand
        else:
            tests = {seccomp.EQUAL: value == operand, seccomp.GREATER_OR_EQUAL: value >= operand, seccomp.ANY_BIT: bool(value & operand)}
            place += if_true if tests[step] else if_false


REFUSED, MISSING = seccomp.REFUSE | errno.EPERM, seccomp.REFUSE | errno.ENOSYS
COMMON = {"read": (0, 63), "write": (1, 64), "mmap": (9, 222), "futex": (202, 98), "socketpair": (53, 199), "exit_group": (231, 94),
          "getrandom": (318, 278), "sendmsg": (46, 211), "recvfrom": (45, 207), "close": (3, 57), "lseek": (8, 62),
          "rt_sigaction": (13, 134)}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("writes", [True, False])
def test_the_filter_refuses_what_it_names_and_nothing_else(machine, writes):
    column, architecture = seccomp.ARCHITECTURES[machine]
    code = seccomp._filter(column, architecture, writes)

    def say(call, *arguments):
        return decide(code, architecture, call[column], *arguments) if call[column] is not None else None

    for group in (seccomp.PROCESSES, seccomp.NETWORK, seccomp.WATCHES, seccomp.MEMORY, seccomp.USERS, seccomp.KERNEL):
        assert {say(call) for call in group.values()} <= {REFUSED, None}
    assert {say(call) for call in seccomp.WRITES.values()} - {None} == {REFUSED if writes else seccomp.ALLOW}
    assert {say(call) for call in COMMON.values()} == {seccomp.ALLOW}
    assert decide(code, 0x40000003, 0) == REFUSED and decide(code, architecture, 0x40000000 + 1) == REFUSED
    assert say(seccomp.CLONE3) == MISSING
    threads, processes = seccomp.CLONE_THREAD | 0x100, 17
    assert say(seccomp.CLONE, threads) == seccomp.ALLOW and say(seccomp.CLONE, processes) == REFUSED
    for call in (seccomp.KILL, seccomp.TGKILL):
        assert say(call, os.getpid(), 9) == seccomp.ALLOW
        assert {say(call, pid, 9) for pid in (1, 0, -1, -os.getpid(), os.getppid())} == {REFUSED}
    assert {say(seccomp.PRLIMIT64, pid) for pid in (0, os.getpid())} == {seccomp.ALLOW}
    assert say(seccomp.PRLIMIT64, os.getppid()) == REFUSED
    assert {say(seccomp.FCNTL, 0, command) for command in (6, 7, 8, 10, 15, 37, 38, 1024, 1026, 1031)} == {REFUSED}
    assert {say(seccomp.FCNTL, 0, command) for command in (0, 1, 2, 3, 4, 1030, 1032)} == {seccomp.ALLOW}  # such as F_DUPFD, F_GETFL
    assert {say(seccomp.IOCTL, 0, command) for command in seccomp.TERMINAL} == {REFUSED} and say(seccomp.IOCTL, 0, 0x5401) == seccomp.ALLOW
    assert say(seccomp.PRCTL, 1) == REFUSED and say(seccomp.PRCTL, 15) == seccomp.ALLOW
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_CREAT, os.O_CREAT, os.O_RDONLY | os.O_TRUNC):
        assert say(seccomp.OPENAT, 0, 0, flags) == (REFUSED if writes else seccomp.ALLOW)
        assert say(seccomp.OPEN, 0, flags) in (None, REFUSED if writes else seccomp.ALLOW)
    assert say(seccomp.OPENAT, 0, 0, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY) == seccomp.ALLOW


def test_a_machine_whose_calls_are_not_known_is_refused(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    for action in (seccomp.column, lambda: seccomp.forbid(True)):
        with pytest.raises(OSError, match="riscv64, only for x86_64, aarch64"):
            action()


def in_a_child(action) -> dict:
    """What `action()` returns, run in a forked child, as JSON."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, json.dumps(action()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        data = answer.read()
    os.waitpid(pid, 0)
    return json.loads(data)


def tried(*attempts) -> list[str]:
    names = []
    for attempt in attempts:
        try:
            attempt()
            names.append("done")
        except BaseException as error:
            names.append(type(error).__name__)
    return names


def test_the_filter_holds_here(tmp_path):
    def action():
        seccomp.forbid(writes=True)
        return tried(os.fork, socket.socket, lambda: os.execv("/bin/true", ["true"]), lambda: (tmp_path / "new").write_text("x"),
                     lambda: os.kill(os.getppid(), 0), lambda: os.kill(os.getpid(), 0), lambda: os.memfd_create("x"),
                     lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU), lambda: threading.Thread(target=int).start(),
                     lambda: open(__file__).close(), lambda: os.chmod(tmp_path, 0o700), lambda: fcntl.flock(file, fcntl.LOCK_EX),
                     lambda: fcntl.lockf(file, fcntl.LOCK_EX), lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK),
                     lambda: fcntl.fcntl(file, fcntl.F_GETFL))

    refused, done = "PermissionError", "done"
    with open(__file__) as file:
        assert in_a_child(action) == [refused, refused, refused, refused, refused, done, refused, refused, done, done, refused,
                                      refused, refused, refused, done]
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(not landlock.version(), reason="not run: this kernel has no Landlock")
def test_landlock_hides_everything_else(tmp_path):
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "file").write_text("x")
    (tmp_path / "hidden").write_text("x")
    (tmp_path / "one").write_text("x")
    (tmp_path / "shown" / "link").symlink_to(tmp_path / "hidden")

    def action():
        landlock.read_only_beneath([str(tmp_path / "shown"), str(tmp_path / "one"), str(tmp_path / "nowhere")])
        return tried((tmp_path / "shown" / "file").read_text, (tmp_path / "one").read_text, (tmp_path / "hidden").read_text,
                     (tmp_path / "shown" / "link").read_text, lambda: os.listdir(tmp_path),
                     lambda: (tmp_path / "shown" / "new").write_text("x"),
                     lambda: os.unlink(tmp_path / "shown" / "file"), lambda: open("/proc/self/maps"))

    assert in_a_child(action) == ["done", "done", *["PermissionError"] * 6]


def test_a_process_that_is_locked_up_has_its_limits_and_one_descriptor():
    ours, theirs = socket.socketpair()

    def action():
        read_end = os.dup(theirs.fileno())
        jail.lock(jail.NONE, read_end, 0)
        held = {name: resource.getrlimit(getattr(resource, name))[1] for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_CORE", "RLIMIT_FSIZE")}
        descriptors = []
        for number in range(50):
            try:
                os.fstat(number)
                descriptors.append(number)
            except OSError:
                continue
        seen = [held, descriptors, os.getcwd(), tried(lambda: bytearray(5 * 2**30))]
        socket.socket(fileno=jail.CHANNEL).sendall(json.dumps(seen).encode())

    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(0)
    theirs.close()
    held, descriptors, folder, memory = json.loads(ours.makefile("rb").read())
    os.waitpid(pid, 0)
    ours.close()
    assert held == {"RLIMIT_AS": 4 * 2**30, "RLIMIT_CPU": 240, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 16 * 2**20}
    assert descriptors == [0, 1, 2, 3] and folder == "/" and memory == ["MemoryError"]


def test_plain_data_in_messages_is_that_of_plain_data():
    """The bodies of a call are one list of arguments and one dict of named ones, two levels deeper than each."""
    deep = [[[[torch.ones(1)]]]]
    assert unpack(pack([[deep], {"a": deep}], depth=INPUTS_DEPTH), depth=INPUTS_DEPTH)[0][0][0][0][0][0].tolist() == [1]
