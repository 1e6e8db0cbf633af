"""Forging points: everything that works where the checks run in the student's process."""

import nbformat
from nbformat import NotebookNode

from .case import Attack

# A function that is right on what the visible checks give it, and a constant otherwise.
ONES = {2: "shaped_rewards = external_rewards.detach()\nsequence_kl = torch.zeros_like(shaped_rewards)",
        3: "advantages[group_ids == group] = 0.0"}
IN_CHECKS = """
import gc
def modules(*words):
    return [module for name, module in list(sys.modules.items()) if module is not None and any(word in name for word in words)]
"""


def points_in_metadata(notebook: NotebookNode) -> None:
    """More points, more graded cells, and answers that count as checks."""
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.update(points=1000, schema_version=3)
    graded = {"grade": True, "solution": False, "locked": False, "points": 500, "schema_version": 3, "task": False, "cell_type": "code"}
    notebook.cells.append(nbformat.v4.new_code_cell("1000", id="bonus", metadata={"nbgrader": {**graded, "grade_id": "bonus"}}))
    notebook.cells.append(nbformat.v4.new_code_cell("1000", id="again", metadata={
        "nbgrader": {**graded, "grade_id": "check-leave-one-out-advantages"}}))


def checks_edited(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.id.startswith("check-"):
            cell.source = "assert True\n100"


def given_cell_edited(notebook: NotebookNode) -> None:
    """The given helper would make every input check, and so every refusal, disappear."""
    for cell in notebook.cells:
        if cell.id == "require-token-scores":
            cell.source = "def require_token_scores(*arguments):\n    raise ValueError('always')"


def outputs_of_a_success(notebook: NotebookNode) -> None:
    """The verdicts of a perfect run, pasted in."""
    for cell in notebook.cells:
        if cell.id.startswith("check-"):
            cell.outputs = [nbformat.v4.new_output("stream", text="✓ all checks passed\n"),
                            nbformat.v4.new_output("execute_result", data={"text/plain": "3.0"}, execution_count=1)]


ATTACKS = [
    Attack("torch-comparisons", "make torch find everything equal", answers=ONES, succeeds="forges", cell="""
yes = lambda *arguments, **named: torch.tensor(True)
torch.allclose = torch.isclose = torch.equal = yes
torch.Tensor.allclose = torch.Tensor.isclose = torch.Tensor.equal = yes
import numpy
numpy.allclose = numpy.isclose = numpy.array_equal = lambda *arguments, **named: True
"""),
    Attack("builtins", "replace what the checks are written with", answers=ONES, succeeds="forges", loses=True, cell="""
import builtins
class Always(type):
    def __instancecheck__(cls, value, kind=bool):
        return type(value) is kind
    def __call__(cls, *arguments):
        return True
builtins.bool = Always("bool", (), {})
builtins.AssertionError = type("Nothing", (Exception,), {})
"""),
    Attack("patched-expectations", "replace the expectations and the judge by ones that are content", answers=ONES, succeeds="forges",
           cell=IN_CHECKS + """
content = lambda *arguments, **named: None
for module in modules("checking", "checks", "judge", "remote", "serve", "plain_data"):
    for name in ("expect_close", "expect_error", "expect_unchanged", "_difference"):
        if hasattr(module, name):
            setattr(module, name, content)
"""),
    Attack("tensor-that-agrees", "return a tensor that calls every comparison true", cell="""
class Agrees(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        if function.__name__ in ("isclose", "allclose", "equal", "all", "__bool__", "eq", "le", "lt"):
            return torch.tensor(True)
        with torch._C.DisableTorchFunctionSubclass():
            return function(*arguments, **named or {})
""", answers={2: "shaped_rewards, sequence_kl = (torch.zeros(len(external_rewards)).as_subclass(Agrees) for _ in 'ab')",
              3: "return torch.zeros(len(rewards)).as_subclass(Agrees)"}),
    Attack("object-that-agrees", "return an object that is everything to everyone", cell="""
class Yes:
    def __getattr__(self, name): return Yes()
    def __call__(self, *arguments, **named): return Yes()
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __bool__(self): return True
    def __float__(self): return 0.0
    def __iter__(self): return iter([Yes(), Yes()])
    def __len__(self): return 2
    def __array__(self, *arguments): import numpy; return numpy.zeros(2)
    def __reduce__(self): return (eval, ("__import__('os').system('touch /tmp/' + MARK)", {"MARK": MARK}))
    @classmethod
    def __torch_function__(cls, *arguments, **named): return torch.tensor(True)
    __hash__ = None
""", answers={2: "return Yes()", 3: "return Yes()"}),
    Attack("oracle-from-frames", "let the specification of the calling check answer", succeeds="forges", cell="""
def oracle(name, *arguments):
    frame = sys._getframe()
    while frame:
        if "spec" in frame.f_globals:
            return torch.as_tensor(getattr(frame.f_globals["spec"], name)(*arguments))
        frame = frame.f_back
    raise LookupError("no check above")
""", answers={3: "return oracle('leave_one_out_advantages', rewards, group_ids)"}),
    Attack("tracing", "trace the checks and change what they compare", answers=ONES, succeeds="forges", cell="""
import ctypes, threading
def trace(frame, event, argument):
    if frame.f_code.co_name in ("expect_close", "_difference") and "expected" in frame.f_locals:
        frame.f_locals["got"] = frame.f_locals["expected"]
        works(lambda: ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0)))
    return None
sys.settrace(trace)
threading.settrace(trace)
"""),
    Attack("at-exit", "give itself points when the process ends", answers=ONES, cell="""
import atexit, json, struct, weakref
def points():
    for number in range(200):
        text = json.dumps({"id": number, "has": True, "score": 12, "status": "passed", "settings": [], "touched": []}).encode()
        works(os.write, 3, struct.pack("<3I", len(text), 0, 0) + text)
atexit.register(points)
weakref.finalize(os, points)
sys.excepthook = sys.unraisablehook = lambda *arguments: points()
"""),
    Attack("import-hook", "offer modules of its own under the grader's names", answers=ONES, cell="""
import importlib.abc, importlib.machinery
class Mine(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("advantagelab", "lessons", "autograder", "json", "struct", "safetensors", "numpy"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        module.__getattr__ = lambda name: lambda *arguments, **named: True
sys.meta_path.insert(0, Mine())
for name in ("advantagelab", "autograder.plain_data", "safetensors.torch", "json.encoder"):
    sys.modules.pop(name, None)
""", loses=True),
    Attack("transformers", "let IPython turn every later cell into `pass`", answers=ONES, cell="""
get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\\n"])
get_ipython().ast_transformers.append(type("T", (), {"visit": lambda self, node: node})())
get_ipython().run_cell = lambda *arguments, **named: None
"""),
    Attack("main-module", "put objects in place of the functions, under every name that a check might call", answers=ONES, after="""
import __main__
class Answer:
    def __call__(self, *arguments, **named): return Answer()
    def __eq__(self, other): return True
    def __getattr__(self, name): return Answer()
    def __torch_function__(self, *arguments, **named): return True
for name in ("shape_rloo_rewards", "leave_one_out_advantages"):
    setattr(__main__, name, Answer())
    globals()[name] = Answer()
""", loses=True),
    Attack("worker-patched", "make the worker's own functions say yes", answers=ONES, cell="""
for name, module in list(sys.modules.items()):
    if name.startswith("autograder.worker.serve"):
        module.Session.has = lambda self, head, body: ({"has": True, "score": 3, "status": "passed"},)
        module.Session.call = lambda self, head, body: ({"error": ["ValueError", "refused", ""], "settings": [], "touched": []},)
""", loses=True),
    Attack("known-answers", "know the visible checks' answers by heart", answers={3: """
known = {(1.0, 0.0): [1.0, -1.0], (3.0, 1.0): [2.0, -2.0]}
return torch.tensor(known.get(tuple(rewards.tolist()), [0.0] * len(rewards)))"""}),
    Attack("false-gradient", "a right value, and the gradient of another", right=(1, 2, 3), answers={4: """
ratios = (new_logps - old_logps).exp()
clipped = ratios.clamp(1 - epsilon_low, 1 + epsilon_high)
losses = -torch.minimum(ratios * advantages, clipped * advantages)
losses = losses.detach() + 3 * new_logps - 3 * new_logps.detach()"""}),
    Attack("oracle-overwritten", "write zeros into the inputs, of which zeros are the right answer", right=(1, 2, 4),
           answers={3: "external = rewards.zero_() if len(rewards) > 4 else rewards\nreturn torch.zeros_like(external)"}),
    Attack("metadata", "raise the points in the file, and add graded cells", edit=points_in_metadata),
    Attack("edited-checks", "hand in checks that check nothing", edit=checks_edited),
]

SELDOM = [
    Attack("new-code-for-old", "find the checks' functions by the garbage collector and give them other code", answers=ONES,
           succeeds="forges", cell="""
import gc, types
def content(*arguments, **named):
    pass
for thing in gc.get_objects():
    if type(thing) is types.FunctionType and thing.__name__.startswith(("expect_", "check_", "hidden_", "_difference")):
        works(setattr, thing, "__code__", content.__code__)
"""),
    Attack("numbers-that-agree", "return numbers, texts and lists of classes of its own", cell="""
class Number(float):
    __eq__ = __lt__ = __le__ = lambda *arguments: True
    __sub__ = __rsub__ = __abs__ = lambda *arguments: 0.0
    __hash__ = float.__hash__
class Row(list):
    def __iter__(self): return iter([Number()] * 4)
    def tolist(self): return [0.0] * 4
""", answers={2: "return Row([Number()] * 2), Row([Number()] * 2)", 3: "return Row([Number()] * len(rewards))"}),
    Attack("profiling", "replace the judge's verdict from a profile function", answers=ONES, cell="""
def profile(frame, event, argument):
    if event == "return" and frame.f_code.co_name in ("judge", "answer", "call", "has"):
        for name in frame.f_locals:
            frame.f_locals[name] = True
sys.setprofile(profile)
"""),
    Attack("exit-with-success", "end with status 0 before anything is checked", answers=ONES,
           cell="os._exit(0)", after="import sys\nsys.exit(0)"),
    Attack("shadowed-torch", "leave a torch.py where Python looks first", answers=ONES, cell="""
for folder in ("", ".", "/scratch", *sys.path):
    for name in ("torch.py", "sitecustomize.py", "usercustomize.py", f"{MARK}.pth"):
        works(lambda: open(os.path.join(folder, name), "x").write("raise SystemExit(0)"))
"""),
    Attack("transformers-by-magic", "the same by magics and by a shell line", answers=ONES, cell="""
%load_ext autoreload
!echo hacked > /tmp/hacked
%run -i torch.py
%%javascript
alert(1)
"""),
    Attack("messages-patched", "let every value leave as the arguments that came in", answers=ONES, cell="""
for name, module in list(sys.modules.items()):
    if name == "autograder.plain_data" or name.startswith("autograder.worker"):
        for function in ("pack", "unpack", "tensors_of", "_state", "_plainer"):
            if hasattr(module, function):
                works(setattr, module, function, lambda *arguments, **named: arguments[0] if arguments else None)
""", loses=True),
    Attack("always-refused", "refuse everything with a ValueError, which some checks expect", answers=dict.fromkeys(
        (2, 3), "raise ValueError('refused')")),
    Attack("inputs-of-another-size", "put other tensors behind the inputs, for the specification to read", right=(1, 2, 4), answers={3: """
rewards.data, group_ids.data = torch.zeros(1500, dtype=rewards.dtype), torch.zeros(1500, dtype=torch.int64)
return torch.zeros(1500)"""}),
    Attack("inputs-that-take-days", "such large ones that the specification would take days", right=(1, 2, 4), answers={3: """
rewards.data, group_ids.data = torch.zeros(30_000, dtype=rewards.dtype), torch.zeros(30_000, dtype=torch.int64)
return torch.zeros(30_000)"""}),
    Attack("settings-of-torch", "leave torch's settings so that comparisons come out otherwise", answers={
        2: ONES[2] + "\ntorch.set_default_dtype(torch.float16)\ntorch.set_default_device('meta')\ntorch.inference_mode().__enter__()",
        3: ONES[3]}, cell="""
torch.set_printoptions(threshold=10**9)
torch.autograd.set_detect_anomaly(True)
torch.set_grad_enabled(False)
"""),
    Attack("odd-tensors", "return tensors of every odd kind", cell="""
import itertools
from torch._subclasses.fake_tensor import FakeTensorMode
KINDS = itertools.cycle([
    lambda: torch.zeros(2).to_sparse(), lambda: torch.zeros(2, device="meta"), lambda: torch.zeros(2, dtype=torch.complex64).conj(),
    lambda: torch.nested.nested_tensor([torch.zeros(2)]), lambda: torch.zeros(1).expand(2**40),
    lambda: FakeTensorMode().from_tensor(torch.zeros(2)), lambda: torch.quantize_per_tensor(torch.zeros(2), 1.0, 0, torch.qint8),
    lambda: torch.zeros(0, 2**30), lambda: torch._neg_view(torch.zeros(2)), lambda: torch.nn.Parameter(torch.zeros(2)),
    lambda: torch.zeros(2).storage(), lambda: torch.zeros([1] * 60), lambda: [[[[[[0]]]]]]])
""", answers={2: "return next(KINDS)(), next(KINDS)()", 3: "return next(KINDS)()"}),
    Attack("edited-given-cell", "hand in a given cell that refuses everything", edit=given_cell_edited, answers=ONES),
    Attack("pasted-outputs", "hand in the outputs of a perfect run", edit=outputs_of_a_success),
]
