"""Every version of TRL around the supported range, one after the other: python environments/trl_versions.py [VERSION …]

For each: the four conformance comparisons of the reference, and the tests of the trainers, in processes of their own; TRL goes into a
scratch folder in front of the installed packages. Writes docs/conformance.md. Takes about 20 minutes; without versions, all from
OLDEST on that pip finds.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (1, 9)  # some minor versions before the range begins
COMPARISONS = ("rloo", "grpo", "om_grpo", "cast")
TITLES = {"rloo": "RLOO", "grpo": "GRPO", "om_grpo": "OM-GRPO", "cast": "CAST"}

# With FORCE, a version outside the range is compared too, so that the table can say why it is outside.
PROGRAM = """
import json, sys
from importlib import import_module
from advantagelab import conformance
run = sys.modules["advantagelab.conformance.run"]
supported = run.version("trl") in __import__("packaging.specifiers", fromlist=["x"]).SpecifierSet(run.TRL_RANGE)
def reports():
    return {name: getattr(conformance, name)(vars(import_module(f"advantagelab.algorithms.{name}"))) for name in %r}
found = reports()
states = {name: [one.status, one.passed, len(one.checks), one.reason] for name, one in found.items()}
forced = {}
if not supported:
    run.TRL_RANGE = ">=0"
    forced = {name: [one.status, one.passed, len(one.checks), one.reason] for name, one in reports().items()}
print("RESULT" + json.dumps({"supported": supported, "states": states, "forced": forced, "versions": found["rloo"].versions}))
""" % (COMPARISONS,)


def main(wanted: list[str]) -> None:
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        for one in wanted or versions_on_the_index():
            folder = Path(scratch) / one
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                            "--target", str(folder), f"trl=={one}"], check=True)
            results[one] = compared(folder)
            print(row(one, results[one]), flush=True)
    if not wanted:
        (ROOT / "docs" / "conformance.md").write_text(document(results), encoding="utf-8")
    wrong = [one for one, result in results.items() if not as_expected(result)]
    if wrong:
        sys.exit(f"not as the range says: {', '.join(wrong)}")


def versions_on_the_index() -> list[str]:
    """Releases from OLDEST on, the oldest first."""
    answer = subprocess.run([sys.executable, "-m", "pip", "index", "versions", "trl"], capture_output=True, text=True, check=True).stdout
    listed = re.search(r"Available versions: (.*)", answer).group(1).split(", ")
    releases = [tuple(map(int, one.split("."))) for one in listed if re.fullmatch(r"[\d.]+", one)]
    return [".".join(map(str, one)) for one in sorted(releases) if one >= OLDEST]


def compared(folder: Path) -> dict:
    # Later folders of the path count less: TRL from `folder`, the rest from the environment.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, cwd=ROOT)
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
    if line is None:
        return {"traceback": done.stderr.strip().splitlines()[-1:]}
    result = json.loads(line.removeprefix("RESULT"))
    if result["supported"]:
        tested = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_trainers.py"],
                                capture_output=True, text=True, env=environment, cwd=ROOT)
        counted = re.findall(r"(\d+) (passed|failed|skipped|error)", tested.stdout.strip().splitlines()[-1])
        result["trainers"] = ", ".join(f"{n} {what}" for n, what in counted)
    return result


def as_expected(result: dict) -> bool:
    if "traceback" in result:
        return False
    wanted = "passed" if result["supported"] else "incompatible"
    trained = result.get("trainers", "1 passed")
    compared_well = all(status == wanted for status, *_ in result["states"].values())
    return compared_well and "passed" in trained and not re.search("failed|error", trained)


def row(one: str, result: dict) -> str:
    if "traceback" in result:
        return f"| {one} | traceback: {result['traceback']} |"
    cells = [f"{status}, {passed} of {n}" if n else status for status, passed, n, _ in result["states"].values()]
    return f"| {one} | {' | '.join(cells)} | {result.get('trainers', '–')} |"


def document(results: dict) -> str:
    packages = {"Python": ".".join(map(str, sys.version_info[:3])), **{name: version(name) for name in ("transformers", "torch")}}
    rows = [row(one, result) for one, result in results.items()]
    outside = []
    for one, result in results.items():
        for name, (status, passed, n, reason) in result.get("forced", {}).items():
            said = f"{passed} of {n}" if n else status
            outside.append(f"| {one} | {TITLES[name]} | {said} | {reason.partition(' | ')[0]} |")
    return f"""# Versions of TRL | TRL 版本

Written by `make conformance-all`; do not edit. {', '.join(f'{name} {found}' for name, found in packages.items())}, CPU.

由 `make conformance-all` 写成，请勿手改。

## Results | 结果

The course supports `trl>=1.10,!=1.15.0,<1.17` and locks one version (environments/pt-cpu.lock.txt). The reference implementations are
compared with TRL as a learner's are in lessons 03–06: status, and checks passed. *Trainers*: tests/test_trainers.py, run in supported
versions only.

课程支持 `trl>=1.10,!=1.15.0,<1.17`，锁定其中一个版本。与 TRL 核对的是参考实现，做法与第 03–06 课相同：表中是状态与通过的项数。
“训练器”一列是 tests/test_trainers.py 的结果，只在受支持的版本上运行。

| TRL | RLOO | GRPO | OM-GRPO | CAST | trainers · 训练器 |
|---|---|---|---|---|---|
{chr(10).join(rows)}

## Why the others are outside | 其余版本为何不支持

What a comparison finds if the range is not asked first. | 不先看版本范围、照样核对时的结果。

| TRL | comparison · 核对 | checks passed · 通过 | reason · 原因 |
|---|---|---|---|
{chr(10).join(outside)}
"""


if __name__ == "__main__":
    main(sys.argv[1:])
