"""The images, without building them: what they copy is there, and nothing else gets in. `make image-test` does the rest."""

import fnmatch
import importlib.util
import json
import re
import subprocess

import pytest

from tests.needs import ROOT

TARGETS = ("learner", "instructor")


def steps() -> list[tuple[str, str]]:
    """Each instruction of the Dockerfile, on one line, and its arguments."""
    lines = [line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    return [tuple(re.fullmatch(r"([A-Z]+)\s+(.*)", line.strip()).groups()) for line in text.splitlines() if line.strip()]


def stages() -> dict[str, list[tuple[str, str]]]:
    found, stage = {}, []
    for step in steps():
        if step[0] == "FROM":
            stage = found[step[1].split()[-1]] = []
        stage.append(step)
    return found


def defaults() -> dict[str, str]:
    return dict(words.split("=") for name, words in steps() if name == "ARG" and "=" in words)


def copied(stage: str) -> list[str]:
    """The sources of a stage's COPY lines, with the build arguments' defaults."""
    sources = [source for name, words in stages()[stage] if name == "COPY" for source in words.split()[:-1]]
    return [re.sub(r"\$\{(\w+)\}", lambda match: defaults()[match[1]], source) for source in sources]


def let_through(path: str) -> bool:
    """Whether .dockerignore lets a path of the checkout reach the build: of the lines that match, the last counts."""
    through = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pattern, parts = line.removeprefix("!"), path.split("/")
        if pattern.startswith("**/"):
            matches = any(fnmatch.fnmatch(part, pattern[3:]) for part in parts)
        else:
            matches = fnmatch.fnmatch(parts[0], pattern)
        if matches:
            through = line.startswith("!")
    return through


def test_both_targets_stand_on_one_base_and_neither_ends_as_root():
    found = stages()
    assert list(found) == ["base", *TARGETS]
    for target in TARGETS:
        assert found[target][0] == ("FROM", f"base AS {target}")
        assert [words for name, words in found[target] if name == "USER"] == [target]
        command = json.loads(next(words for name, words in found[target] if name == "CMD"))
        assert command[-1] == target and command[1].endswith("environments/serve.py")
    assert any(name == "HEALTHCHECK" for name, _ in found["base"])


@pytest.mark.parametrize("stage", ["base", *TARGETS])
def test_what_is_copied_is_there_and_is_let_through(stage):
    assert copied(stage)
    for source in copied(stage):
        assert (ROOT / source).exists() and let_through(source), source


def test_nothing_that_is_committed_in_a_copied_folder_is_left_out():
    listed = subprocess.run(["git", "-c", "core.quotepath=off", "ls-files", *copied("learner"), *copied("instructor")], cwd=ROOT,
                            capture_output=True, text=True, check=True)
    files = listed.stdout.splitlines()
    assert len(files) > 100 and [file for file in files if not let_through(file)] == []


@pytest.mark.parametrize("path", ["my-work/en/03_rloo.ipynb", ".venv/bin/python", ".git/config", "solutions/en/03_rloo.ipynb",
                                  "tests/needs.py", "lessons/__pycache__/x.pyc", "notebooks/en/.ipynb_checkpoints/03-checkpoint.ipynb"])
def test_what_no_image_needs_does_not_reach_the_build(path):
    assert not let_through(path)


def test_a_learner_gets_notebooks_and_no_answers():
    assert {source.split("/")[0] for source in copied("base") + copied("learner")} <= {"environments", "notebooks", "LICENSE",
                                                                                       "LICENSE-CC-BY-4.0.txt"}


def test_gradescope_finds_all_that_it_packs():
    from autograder.gradescope import PARTS

    assert set(PARTS) <= set(copied("instructor"))


def test_makefile_passes_on_every_build_argument():
    arguments = {re.split("=", words)[0] for name, words in steps() if name == "ARG"}
    passed = re.search(r"^BUILD_ARGUMENTS = (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1].split()
    assert set(passed) == arguments


def test_no_host_but_the_public_ones():
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Dockerfile", ".dockerignore", ".devcontainer/devcontainer.json"))
    hosts = set(re.findall(r"https?://([\w.-]*\w)", text)) | {defaults()["BASE"].split("/")[0]}
    assert hosts <= {"docker.io", "deb.debian.org", "mirrors.aliyun.com", "127.0.0.1"}


def test_devcontainer_builds_the_learner_image():
    folder = ROOT / ".devcontainer"
    settings = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))
    build = settings["build"]
    assert (folder / build["dockerfile"]).resolve() == ROOT / "Dockerfile" and (folder / build["context"]).resolve() == ROOT
    assert build["target"] == settings["remoteUser"] == "learner"
    assert settings["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"] == "/lab/.venv/bin/python"


def serve():
    spec = importlib.util.spec_from_file_location("serve", ROOT / "environments" / "serve.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_folder_that_is_not_to_be_written_to_is_explained(monkeypatch, tmp_path):
    module = serve()
    monkeypatch.setitem(module.FOLDERS, "learner", tmp_path / "missing")
    monkeypatch.setattr(module.os, "execvp", lambda *_: pytest.fail("the server was started"))
    with pytest.raises(SystemExit) as refused:
        module.main("learner")
    assert "sudo chown" in refused.value.code and "--user" in refused.value.code and "无法写入" in refused.value.code


def test_the_server_is_started_in_the_course(monkeypatch, tmp_path, capsys):
    module, started = serve(), []
    monkeypatch.setitem(module.FOLDERS, "instructor", tmp_path)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(module.os, "execvp", lambda program, command: started.append((program, command, module.os.getcwd())))
    module.main("instructor")
    assert "autograder init" in capsys.readouterr().out
    (tmp_path / "nbgrader_config.py").touch()
    module.main("instructor")
    assert capsys.readouterr().out == "" and len(started) == 2
    program, command, where = started[0]
    assert program == "jupyter" and where == str(tmp_path) and f"--ServerApp.root_dir={tmp_path}" in command
