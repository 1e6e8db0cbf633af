"""What the grading processes of this machine are forked from (processes.py): loaded here once for all of them, like a warm zygote.

The zygote starts first, so that torch is imported there and here at the same time.
"""

import contextlib
import ctypes
import gc
import os
import signal
import warnings

from .processes import LESSON
from .sandbox import ISOLATIONS, SandboxError, Zygote
from .worker.jail import PR_SET_PDEATHSIG

# What is loaded here stays. A collector that looked at it again and again would write to all of it, so that no process shared it any more.
gc.disable()
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # it ends with the process that hands out the work, at once
warnings.filterwarnings("ignore", "forkserver: waitpid")  # the zygote's end is nothing that multiprocessing knows of
begun = None
with contextlib.suppress(SandboxError, OSError):
    begun = Zygote(ISOLATIONS[0])

from . import grade  # noqa: E402
from .probe import choose  # noqa: E402

if os.environ.get(LESSON):
    grade.load(os.environ[LESSON])
with contextlib.suppress(SandboxError, OSError):  # if none works, each grading process finds out for itself, and says why
    grade.share(choose(begun=begun))
gc.freeze()
gc.enable()
