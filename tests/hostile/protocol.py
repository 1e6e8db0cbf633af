"""Abuse of the protocol: messages that are huge, cut short, malformed, endless, early or someone else's, written to the channel's file."""

from .case import Attack

# `send` writes a message; a cell that garbles the channel costs itself, the process is made anew without it, and right answers count.
SEND = """
import json, socket, struct, threading, time
def send(head, first=b"", second=b""):
    text = head if type(head) is bytes else json.dumps(head).encode()
    os.write(3, struct.pack("<3I", len(text), len(first), len(second)) + text + first + second)
YES = {"has": True, "error": None, "settings": [], "touched": []}
"""


def sends(name: str, tries: str, code: str, **more) -> Attack:
    return Attack(name, tries, cell=SEND + code, **more)


ATTACKS = [
    sends("answers-ahead", "answer questions before they are asked", "for n in range(1, 200): send({'id': n, **YES})", loses=True),
    sends("huge-lengths", "promise twelve gigabytes", "os.write(3, struct.pack('<3I', 2**32 - 1, 2**32 - 1, 2**32 - 1))"),
    sends("cut-short", "send half a message and end", "os.write(3, struct.pack('<3I', 10, 1000, 0) + b'{}'); os._exit(0)"),
    sends("deep-json", "send JSON that is nested sixty thousand deep", "send(b'[' * 60_000)"),
    sends("closed-channel", "close the channel", "os.close(3)"),
    sends("file-descriptors", "send files along, more than the judge may have open",
          "channel = socket.socket(fileno=os.dup(3))\nfor n in range(20): works(socket.send_fds, channel, [b'x'], [0, 1, 2] * 50)"),
    sends("another-question-s-name", "answer every question by the one function that is right", """
frame = sys._getframe()
while frame and "session" not in frame.f_locals:
    frame = frame.f_back
if frame:
    session = frame.f_locals["session"]
    call = session.call
    session.call = lambda head, body: call({**head, "name": "aggregate_sequence_logps"}, body)
    session.has = lambda head, body: ({"has": True},)""", loses=True),
    sends("settings-that-are-none", "answer with settings, touches and errors that are none", """
frame = sys._getframe()
while frame and "session" not in frame.f_locals:
    frame = frame.f_back
if frame:
    lies = {"settings": [{}], "touched": ["x", -5, 10**9], "error": {"a": 1}}
    frame.f_locals["session"].call = lambda head, body: (lies, b"garbage")""", loses=True),
    Attack("garbled-by-a-function", "garble the channel from within a call", right=(1, 3, 4), answers={2: "os.write(3, os.urandom(999))"},
           cell="pass"),
]

SELDOM = [
    sends("answers-ahead-with-values", "the same with values", """
from autograder.plain_data import pack
for n in range(1, 200): send({"id": n, **YES}, pack(torch.zeros(2)))""", loses=True),
    sends("answers-from-a-thread", "answer from a thread, without end", """
def answer():
    for number in range(10**9):
        send({"id": number % 300, "has": True, "error": ["ValueError", "refused", ""], "settings": [], "touched": []})
threading.Thread(target=answer, daemon=True).start()""", loses=True),
    sends("largest-bodies", "send the largest message there may be, again and again",
          "for n in range(3): send({'id': n, **YES}, bytes(16 * 2**20), bytes(16 * 2**20))"),
    sends("empty-messages", "send messages of nothing", "os.write(3, bytes(12 * 1000))"),
    sends("huge-number", "send a number of fifty thousand digits", "send(b'{\"id\":' + b'9' * 50_000 + b'}')"),
    sends("not-a-number", "send ids that are no numbers", "send(b'{\"id\":NaN}')\nfor odd in (True, [1], None): send({'id': odd})"),
    sends("another-encoding", "send UTF-16, a lone surrogate and NULs", r"""
for text in ("{}".encode("utf-16"), bytes(50), b'{"id": "\ud800"}'): send(text)"""),
    sends("lists-for-answers", "answer with lists and texts in place of objects", "send([1]); send('answer'); send(7)"),
    sends("random-bytes", "send random bytes", "os.write(3, os.urandom(100_000))"),
    sends("one-byte-at-a-time", "send a message so slowly that it never ends", """
os.write(3, struct.pack("<3I", 60_000, 0, 0))
while True:
    works(os.write, 3, b" "); works(time.sleep, 0.2)"""),
    sends("shut-down-channel", "shut the channel down in both directions", "socket.socket(fileno=3).shutdown(socket.SHUT_RDWR)"),
    sends("closed-files", "close every file", "os.closerange(0, 1000)"),
    sends("another-channel", "put another file in the channel's place",
          code="left, right = socket.socketpair()\nos.dup2(left.fileno(), 3)"),
    sends("printed-on-the-channel", "print on the channel", """
sys.stdout = sys.stderr = open(3, "w", closefd=False)
print("done")
sys.stdout.flush()"""),
    sends("channel-settings", "change the channel: buffers, blocking, urgent data, owner", """
channel = socket.socket(fileno=os.dup(3))
channel.setblocking(False)
for option in (socket.SO_SNDBUF, socket.SO_RCVBUF, socket.SO_LINGER, socket.SO_PASSCRED, 42):
    works(channel.setsockopt, socket.SOL_SOCKET, option, 1)
works(channel.send, b"x", socket.MSG_OOB)""", loses=True),
    sends("replayed-answer", "repeat an answer that was right", """
frame = sys._getframe()
while frame and "session" not in frame.f_locals:
    frame = frame.f_back
if frame:
    session, first = frame.f_locals["session"], []
    call = session.call
    def replay(head, body):
        first.append(call(head, body)) if not first else None
        return first[0]
    session.call = replay""", loses=True),
    sends("swapped-worker", "put another worker's loop in place of this one", """
frame = sys._getframe()
while frame and frame.f_code.co_name != "serve":
    frame = frame.f_back
if frame:
    channel = frame.f_locals["channel"]
    type(channel).send = lambda self, head, *bodies, **named: send({"id": head.get("id"), **YES})""", loses=True),
    Attack("ended-by-a-function", "end the process from within a call", right=(1, 2, 4), answers={3: "os._exit(0)"}, cell="pass"),
]
