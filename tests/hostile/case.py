"""What a hostile submission is: a cell above the answers, answers, prose, or a change of the file, and what it may earn."""

from collections.abc import Callable
from dataclasses import dataclass, field

from nbformat import NotebookNode

RIGHT = (1, 4)  # the TODOs that a hostile student solves as the course does, so that what is earned is not always nothing

# Above every hostile cell. A cell says what it got at with `gained`; the word itself stands in no source.
PRELUDE = """
import os, sys
COURSE, HOME, CHECKOUT, SOCKET, MARK = (bytes.fromhex(text).decode() for text in TEXTS)
VICTIM, PORT = NUMBERS
def gained(what):
    print("GAI" + "NED", what)
def works(attempt, *arguments):
    try:
        return attempt(*arguments) is not False
    except BaseException:
        return False
def show(place, content):
    import re
    for found in set(re.findall(rb"canary-\\w+-\\w+", content if type(content) is bytes else str(content).encode())):
        print(place, found.decode())
"""
GAINED = "GAINED"


@dataclass(frozen=True)
class Known:
    """What every attacker is told, so that no attack fails for not knowing a path: the course's folder, the home of the one who grades,
    the checkout, a listening socket, a process of the same user, and a name for all that is left behind."""

    course: str
    home: str
    checkout: str
    socket: str
    mark: str
    victim: int
    port: int

    def prelude(self) -> str:
        texts = [text.encode().hex() for text in (self.course, self.home, self.checkout, self.socket, self.mark)]
        return PRELUDE.replace("TEXTS", repr(texts)).replace("NUMBERS", repr((self.victim, self.port)))


@dataclass(frozen=True)
class Attack:
    """tries: what, in a few words.

    cell: a cell of the student's own above the answers; answers: what stands in place of a TODO, by its number; after: a cell below
    written: the written answer; edit: what else was done to the file
    right: the TODOs that are solved as the course does, and so earn their points, unless `loses`
    loses: it may also lose points that its right answers would earn; those of others are not its to lose
    succeeds: "reads" or "forges" where nothing is locked up and checks run in the same process, as with stock nbgrader; there it is tried
    """

    name: str
    tries: str
    cell: str = ""
    answers: dict[int, str] = field(default_factory=dict)
    after: str = ""
    written: str = "My answer. | 我的回答。"
    edit: Callable[[NotebookNode], None] | None = None
    right: tuple[int, ...] = RIGHT
    loses: bool = False
    succeeds: str = ""
