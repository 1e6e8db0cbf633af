"""`doctor` announces what `grade` then does: the strongest isolation that holds, or none, and then it refuses unless told otherwise."""

import sys

import pytest

from advantagelab.message import message
from autograder import doctor, judge, probe
from autograder.__main__ import main
from autograder.probe import FACTS, Probe
from autograder.sandbox import BUBBLEWRAP, ISOLATIONS, LANDLOCK, NONE, UID, SandboxError, Zygote

MISSING = message(en="It cannot be started.", zh="无法启动。")


def found(isolation: str, lacking: set[str]) -> Probe:
    return Probe(isolation, None, {fact: fact not in lacking for fact in FACTS})


@pytest.mark.parametrize("probes, taken, status", [
    ({BUBBLEWRAP: set(), UID: set(), LANDLOCK: set(), NONE: {"files", "processes"}}, BUBBLEWRAP, 0),
    ({BUBBLEWRAP: MISSING, UID: MISSING, LANDLOCK: set(), NONE: {"files"}}, LANDLOCK, 0),
    ({BUBBLEWRAP: {"network"}, UID: {"files"}, LANDLOCK: {"traces"}, NONE: {"files"}}, None, 1),
    ({BUBBLEWRAP: MISSING, UID: MISSING, LANDLOCK: MISSING, NONE: set()}, None, 1)])
def test_what_is_announced_is_what_would_be_chosen(monkeypatch, capsys, probes, taken, status):
    def look(isolation):
        return Probe(isolation, probes[isolation], {}) if probes[isolation] is MISSING else found(isolation, probes[isolation])

    class Fake:
        def __init__(self, isolation):
            self.isolation = isolation

        def wait(self):
            if probes[self.isolation] is MISSING:
                raise SandboxError(MISSING)
            return self

        def close(self):
            pass

    monkeypatch.setattr(doctor, "probe", look)
    monkeypatch.setattr(probe, "Zygote", Fake)
    monkeypatch.setattr(probe, "probe_zygote", lambda zygote: look(zygote.isolation))
    assert main(["doctor"]) == status
    said = capsys.readouterr().out
    if taken:
        assert said.startswith(f"grading uses: {taken} | 评阅将使用：{taken}\n") and probe.choose()[1] == taken
    else:
        assert said.startswith("no isolation holds here") and "本机没有可用的隔离" in said
        with pytest.raises(SandboxError, match="No isolation works"):
            probe.choose()
    assert said.count("\n— none: no isolation, for comparison | 不隔离，仅作对照\n") == 1
    for isolation in ISOLATIONS[:-1]:
        assert f"{'✓' if isinstance(probes[isolation], set) and not probes[isolation] else '✗'} {isolation}\n" in said
    assert said.count("NO  | 否") == sum(len(lacking) for lacking in probes.values() if isinstance(lacking, set))
    assert said.count(MISSING.en) == said.count(MISSING.zh) == sum(lacking is MISSING for lacking in probes.values())


def test_a_closed_folder_is_said_where_the_isolation_is_another_user(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "probe", lambda isolation: found(isolation, {"imports"}))
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert said.count(f"another user cannot read {sys.prefix}") == 1 and said.count(f"其他用户读不到 {sys.prefix}") == 1


def test_on_this_machine(capsys):
    """Tried for real: the judge is in what doctor says that grading uses."""
    status, said = main(["doctor"]), capsys.readouterr().out
    try:
        grader = judge.Judge()
    except SandboxError:
        assert status == 1 and "grading uses" not in said
        return
    grader.close()
    assert status == 0 and f"grading uses: {grader.isolation} |" in said


def test_one_that_was_begun_is_taken_and_not_started_again(monkeypatch):
    """The process that grading processes are forked from starts one before it loads anything else."""
    try:
        begun = Zygote(BUBBLEWRAP)
    except SandboxError:
        return
    monkeypatch.setattr(probe, "ISOLATIONS", (BUBBLEWRAP, NONE))
    monkeypatch.setattr(probe, "Zygote", lambda isolation: pytest.fail(f"{isolation} was started"))
    try:
        zygote, name = probe.choose(begun=begun)
    except SandboxError:
        return  # it does not hold here
    assert zygote is begun and name == BUBBLEWRAP and zygote.alive()
    zygote.close()


def test_an_isolation_that_starts_and_then_makes_no_process_does_not_hold(monkeypatch):
    """As in a container without the right to change the user."""
    def fails(*_):
        raise SandboxError(MISSING)

    class Fake:
        isolation = UID

    monkeypatch.setattr(probe, "_run", fails)
    assert probe.probe_zygote(Fake()) == Probe(UID, MISSING, {})
