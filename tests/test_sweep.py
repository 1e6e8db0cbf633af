"""python -m advantagelab.methods: what it runs, what it writes, and that it goes on where it was stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from multiprocessing.pool import ThreadPool
from types import SimpleNamespace

import pytest

from advantagelab import methods
from advantagelab.methods import bands, bases, records, runs
from advantagelab.tinylm import Settings, load, measure, products
from tests.needs import ROOT

QUICK = Settings(steps=4, prompts=2, group_size=4, warmup=1, evaluate_every=2)


@pytest.fixture()
def quick(tmp_path, monkeypatch):
    """Two methods of a few steps, records in a folder of their own, and threads for processes."""
    monkeypatch.setattr(products, "HELD_OUT", products.HELD_OUT[:8])
    monkeypatch.setattr(measure, "SEEN_SAMPLES", 8)
    monkeypatch.setattr(records, "FOLDER", tmp_path / "records")
    for name in ("grpo", "cast"):
        entry = methods.METHODS[name]
        shorter = methods.Entry(entry.title, entry.group, entry.function, entry.arguments, QUICK, entry.base)
        monkeypatch.setitem(methods.METHODS, name, shorter)
    monkeypatch.setattr(runs, "PLAN", [(["grpo"], "half", [0, 1]), (["grpo", "cast"], "direct", [0])])
    monkeypatch.setattr(runs, "multiprocessing", SimpleNamespace(get_context=lambda _: SimpleNamespace(Pool=ThreadPool)))
    monkeypatch.setattr(runs, "_prepare_worker", lambda: None)
    return tmp_path / "records"


def test_a_sweep_records_all_of_the_plan_and_a_second_one_nothing(quick, capsys):
    runs.sweep(1)
    assert sorted(file.name for file in quick.iterdir()) == ["cast.json", "grpo.direct.json", "grpo.json"]
    record = json.loads((quick / "grpo.json").read_text())
    assert list(record["seeds"]) == ["0", "1"] and record["settings"]["steps"] == 4 and record["function"] == "grpo_method"
    run = record["seeds"]["0"]
    assert run["evaluations"]["step"] == [0, 2, 4] and len(run["steps"]["reward"]) == 4 and set(run["versions"]) >= {"torch", "cpu"}
    assert "3/4 · grpo.direct seed | 种子 0 · held-out accuracy | 留出集正确率 " in capsys.readouterr().out
    before = {file: file.stat().st_mtime_ns for file in quick.iterdir()}
    runs.sweep(1)
    assert {file: file.stat().st_mtime_ns for file in quick.iterdir()} == before
    assert capsys.readouterr().out == "4 of 4 runs are recorded | 共 4 次训练，已记录 4 次\n"


def test_what_is_missing_is_run_and_the_rest_is_kept_bit_for_bit(quick):
    runs.sweep(1)
    first = (quick / "grpo.json").read_text()
    record = json.loads(first)
    del record["seeds"]["0"]
    (quick / "grpo.json").write_text(json.dumps(record))
    (quick / "cast.json").unlink()
    runs.sweep(1)
    again = json.loads((quick / "grpo.json").read_text())
    for record in (again, expected := json.loads(first)):
        for run in record["seeds"].values():
            del run["cpu_seconds"]
    assert again == expected and (quick / "cast.json").exists()


def test_a_record_of_another_configuration_is_begun_anew(quick, monkeypatch):
    runs.sweep(1)
    entry = methods.METHODS["grpo"]
    monkeypatch.setitem(methods.METHODS, "grpo", methods.Entry(entry.title, entry.group, entry.function, {}, Settings(**{
        **vars(QUICK), "learning_rate": 1e-3})))
    runs.run("grpo", "half", 7)
    record = json.loads((quick / "grpo.json").read_text())
    assert list(record["seeds"]) == ["7"] and record["settings"]["learning_rate"] == 1e-3


def test_a_stopped_run_leaves_no_record(quick, monkeypatch):
    def stop(batch):
        raise KeyboardInterrupt
    entry = methods.METHODS["grpo"]
    monkeypatch.setattr(methods.Entry, "method", lambda self: SimpleNamespace(**{**vars(entry.function()), "rewards": stop}))
    with pytest.raises(SystemExit, match="nothing is recorded"):
        runs.run("grpo", "half", 0)
    assert not quick.exists()


def test_a_run_says_where_it_is_recorded_and_what_it_replaced(quick, capsys, monkeypatch):
    file = quick / "grpo.json"
    for seed, said, zh in ((0, "", ""), (1, "", ""), (0, " (replaced seed 0)", "（替换了种子 0）")):
        runs.run("grpo", "half", seed)
        *_, progress, last = capsys.readouterr().out.splitlines()
        assert last == f"recorded in {file}{said} | 已写入 {file}{zh}"
        assert "4/4 · held-out accuracy | 留出集正确率 0." in progress and progress.endswith("0 s left | 还需 0 秒 ")
    entry = methods.METHODS["grpo"]
    other = methods.Entry(entry.title, entry.group, entry.function, {}, Settings(**{**vars(QUICK), "learning_rate": 1e-3}))
    monkeypatch.setitem(methods.METHODS, "grpo", other)
    runs.run("grpo", "half", 2)  # the record of another configuration
    assert "(replaced seed 0, 1)" in capsys.readouterr().out


def test_a_base_that_was_never_shown_what_the_method_asks_is_refused(quick):
    with pytest.raises(SystemExit, match=r"says 'work', which half never saw .* \| .*half 预训练时没有见过"):
        runs.run("cast", "half", 0)
    with pytest.raises(SystemExit, match=r"compares completions, which direct never saw .* \| .*没有见过比较"):
        runs.run("om_grpo_car", "direct", 0)
    for names, base, _ in methods.PLAN:
        for name in names:
            runs.require_base(methods.METHODS[name].method(), base)
    assert not quick.exists()


def command(module: str, *arguments: str, cwd=ROOT, **named) -> subprocess.Popen:
    """Interrupts reach it, even if the tests run in the background of a shell that has these ignored."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "COLUMNS": "100"}
    return subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=cwd, env=environment, text=True, encoding="utf-8",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **named)


def test_help_says_what_a_run_does_and_a_wrong_name_names_the_methods_once():
    said, _ = command("advantagelab.methods", "run", "--help").communicate()
    assert "half a minute" in said and "over an earlier run of this seed" in said and "会被替换" in said
    assert said.count("om_grpo_masked_kl") == 1 and "--method NAME" in said
    _, wrong = command("advantagelab.methods", "run", "--method", "gpro").communicate()
    assert wrong.count("om_grpo_masked_kl") == 1


def test_pretraining_says_at_once_that_it_cannot_write(tmp_path):
    for file in (tmp_path / "none" / "x.safetensors", tmp_path):
        process = command("advantagelab.tinylm", "pretrain", "half", "--out", str(file))
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1 and f"cannot write {file}" in said and f"无法写出 {file}" in said and "loss" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_pretraining_is_stopped_without_a_traceback(tmp_path):
    process = command("advantagelab.tinylm", "pretrain", "half", cwd=tmp_path)
    seen = ""
    while "loss" not in seen:
        seen += process.stderr.read(1)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 1 and "Traceback" not in rest and "没有写出检查点" in rest and not list(tmp_path.iterdir())


def test_bands_are_the_mean_and_range_of_the_steps_before_each_evaluation(quick, tmp_path, monkeypatch):
    runs.sweep(1)
    monkeypatch.setattr(bands, "FOLDER", quick)
    monkeypatch.setattr(bands, "RECORDED", tmp_path / "recorded")
    gap = {"mean": 0.12345, "teachers": {"direct": {"work": 0.625}}}
    records.write_json(quick / "gap.json", gap)
    bands.write_bands()
    assert json.loads((tmp_path / "recorded" / "gap.json").read_text()) == {**gap, "mean": 0.123}
    drawn, thin = (json.loads((tmp_path / "recorded" / f"{name}.json").read_text()) for name in ("bands", "runs"))
    assert list(drawn) == ["grpo", "grpo.direct", "cast"] and set(thin) == set(drawn)
    assert {key: run.get("teacher_accuracy") for key, run in thin.items()} == {"cast": 0.625, "grpo": None, "grpo.direct": None}
    seeds = json.loads((quick / "grpo.json").read_text())["seeds"]
    rewards = [[run["steps"]["reward"][0], sum(run["steps"]["reward"][:2]) / 2, sum(run["steps"]["reward"][2:]) / 2]
               for run in seeds.values()]
    for row, expected in zip(thin["grpo"]["reward"], rewards, strict=True):
        assert row == pytest.approx(expected, rel=1e-2)
    band, columns = drawn["grpo"]["reward"], list(zip(*rewards))
    assert band["low"] == pytest.approx([min(column) for column in columns], rel=1e-2)
    assert band["mean"] == pytest.approx([sum(column) / 2 for column in columns], rel=1e-2)
    assert drawn["grpo"]["held_out_accuracy"]["high"][-1] == pytest.approx(
        max(run["evaluations"]["held_out_accuracy"][-1] for run in seeds.values()), rel=1e-2)
    assert drawn["cast"]["base"] == drawn["grpo.direct"]["base"] == "direct" and drawn["grpo"]["steps"] == [0, 2, 4]


def test_a_base_that_is_not_shipped_is_pretrained_once_and_kept(tmp_path, monkeypatch):
    made = []

    def make(name, seed, file):
        made.append((name, seed))
        file.write_bytes(b"")

    monkeypatch.setattr(bases, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(bases.pretrain, "make", make)
    assert bases.base_file("half") == "half"
    assert bases.base_file("half-3") == bases.base_file("half-3") == tmp_path / "kept" / "half-3.safetensors"
    assert made == [("half", 3)]
    for wrong in ("none-1", "half-x", "quarter"):
        with pytest.raises(SystemExit, match=r"no base called .* \| 没有名为 .* 的起始模型"):
            bases.base_file(wrong)


def test_every_method_can_be_built_on_its_base():
    for entry in methods.METHODS.values():
        assert entry.method().loss and load(entry.base) and len(entry.title) == 2 and entry.group in ("main", "ablation", "cast", "limits")
    planned = {name for names, _, _ in methods.PLAN for name in names}
    assert planned == set(methods.METHODS)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_workers_end_when_the_sweep_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text("""
import multiprocessing, os, sys, time
from advantagelab.methods.runs import _prepare_worker
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1, _prepare_worker) as pool:
        print(pool.apply(os.getpid), flush=True)
        pool.apply(time.sleep, (600,))
""")
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    worker = int(parent.stdout.readline())
    os.kill(worker, signal.SIGINT)  # Ctrl+C reaches the workers too, and is not for them
    os.kill(worker, 0)
    parent.kill()
    parent.wait()
    for _ in range(600):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the worker outlives its sweep")
