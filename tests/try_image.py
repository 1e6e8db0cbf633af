"""Use the built images as a learner and an instructor do: make image-test, or python tests/try_image.py docker|podman [OPTIONS of run]

Servers start and are healthy; a solved lesson runs; nothing in the folder is overwritten; a folder that is somebody else's is explained.
A class is made, graded as root and as the server's user, and given back; formgrader answers; doctor says which isolation is active.
Exits with the first thing that is not so. Takes a few minutes.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOLVED = "solutions/en/03_rloo.ipynb"
ASK = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8888{}', timeout=20).status)"
TOKEN = "for-this-trial"
COURSE = "/home/instructor/course"
SOMEBODY = "54321"  # a user that the image does not know, as `--user "$(id -u)"` names one


class Engine:
    def __init__(self, command: list[str], options: list[str]):
        self.command, self.options, self.begun, self.volumes = command, options, [], []

    def __call__(self, *arguments: str, status: int = 0, stdin: bytes | None = None) -> str:
        run = subprocess.run([*self.command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, input=stdin)
        said = run.stdout.decode("utf-8", "replace")
        if run.returncode != status:
            sys.exit(f"✗ {' '.join(arguments)}\n  exit {run.returncode}, not {status}: {said}")
        return said

    def once(self, *arguments: str, **how) -> str:
        return self("run", "--rm", *self.options, *arguments, **how)

    def serve(self, name: str, *arguments: str) -> None:
        self.begun.append(name)
        self("run", "-d", "--init", "--name", name, *self.options, "-e", f"JUPYTER_TOKEN={TOKEN}", *arguments)
        image = json.loads(self("image", "inspect", arguments[-1]))[0]
        check = (image["Config"].get("Healthcheck") or image["Healthcheck"])["Test"]  # docker's place, podman's
        for _ in range(90):
            time.sleep(2)
            if subprocess.run([*self.command, "exec", name, *check[1:]], capture_output=True).returncode == 0:
                return
        sys.exit(f"✗ {name} does not become healthy: {self('logs', name)}")

    def volume(self, name: str) -> str:
        self.volumes.append(name)
        self("volume", "create", name)
        return name

    def clean(self) -> None:
        for arguments in [*(["rm", "-f", name] for name in self.begun), *(["volume", "rm", "-f", name] for name in self.volumes)]:
            subprocess.run([*self.command, *arguments], capture_output=True)


def learner(engine: Engine) -> None:
    image, work = "advantagelab:learner", engine.volume("advantagelab-trial-work")
    mount = ("-v", f"{work}:/lab/my-work")
    for name in ("/lab/solutions", "/lab/lessons", "/lab/advantagelab"):
        engine.once(image, "test", "!", "-e", name)
    engine.serve("advantagelab-trial-learner", *mount, image)
    inside = ("exec", "advantagelab-trial-learner")
    expect("the server answers its owner", "200" in engine(*inside, "python", "-c", ASK.format(f"/api/contents/en?token={TOKEN}")))
    expect("it is not root", engine(*inside, "id", "-u").strip() == "1000")
    engine(*inside, "sh", "-c", "echo mine > /lab/my-work/zh/03_rloo.ipynb")
    engine("exec", "-i", *inside[1:], "sh", "-c", "cat > /tmp/solved.ipynb", stdin=(ROOT / SOLVED).read_bytes())
    engine(*inside, "jupyter", "execute", "--timeout=600", "/tmp/solved.ipynb")
    say("lesson 03, solved, runs to its end")
    engine("restart", "advantagelab-trial-learner")
    expect("an answer is not overwritten", engine(*inside, "cat", "/lab/my-work/zh/03_rloo.ipynb").strip() == "mine")
    engine.once(*mount, "--user", "0", image, "sh", "-c", f"chown -R {SOMEBODY} /lab/my-work && chmod 755 /lab/my-work")
    expect("somebody else's folder is explained", "chown" in engine.once(*mount, image, status=1))
    engine.once(*mount, "--user", SOMEBODY, image, "sh", "-c",
                "touch my-work/a && python -c 'import matplotlib.pyplot, torch' && jupyter lab --version")
    say("and works as its owner")


def instructor(engine: Engine) -> None:
    image, volume = "advantagelab:instructor", engine.volume("advantagelab-trial-course")
    mount = ("-v", f"{volume}:{COURSE}", "--user", SOMEBODY)
    engine.once("-v", f"{volume}:{COURSE}", "--user", "0", image, "chown", SOMEBODY, COURSE)
    print(engine.once(*mount, image, "autograder", "init", ".", "--language", "en", "--lesson", "rloo"))
    engine.serve("advantagelab-trial-instructor", *mount, image)
    inside = ("exec", "advantagelab-trial-instructor")
    as_root = ("exec", "-u", "root", "advantagelab-trial-instructor")
    expect("it is not root", engine(*inside, "id", "-u").strip() == SOMEBODY)
    for page in ("/formgrader/manage_assignments", "/formgrader/api/assignments"):
        expect(f"{page} answers", "200" in engine(*inside, "python", "-c", ASK.format(f"{page}?token={TOKEN}")))
    for who in (as_root, inside):
        print(said := subprocess.run([*engine.command, *who, "autograder", "doctor"], capture_output=True, text=True).stdout)
        expect("an isolation holds", "grading uses:" in said)
    for student in ("s01", "学生甲"):
        folder = f"submitted/{student}/03_rloo"
        engine("exec", "-i", *inside[1:], "sh", "-c", f"mkdir -p {folder} && cat > {folder}/03_rloo.ipynb",
               stdin=(ROOT / SOLVED).read_bytes())
    print(engine(*as_root, "autograder", "grade", "."))
    print(engine(*inside, "autograder", "grade", ".", "--again"))
    engine(*inside, "autograder", "feedback", ".")
    engine(*inside, "autograder", "export", ".", "--lesson", "rloo", "--format", "csv", "--output", "/tmp/scores.csv")
    print(table := engine(*inside, "cat", "/tmp/scores.csv"))
    expect("both are graded", table.count(",10,12,") == 2)
    expect("all in the course is its owner's", engine(*as_root, "find", ".", "!", "-user", SOMEBODY) == "")
    expect("another user reads none of it", "denied" in engine("exec", "-u", "65000:65000", "advantagelab-trial-instructor", "sh", "-c",
                                                            f"ls {COURSE} 2>&1; ls /home/instructor/advantagelab 2>&1; true"))
    print(engine(*as_root, "autograder", "demo"))


def expect(what: str, is_so: bool) -> None:
    if not is_so:
        sys.exit(f"✗ not so: {what}")
    say(what)


def say(what: str) -> None:
    print(f"✓ {what}", flush=True)


if __name__ == "__main__":
    engine = Engine(sys.argv[1].split(), sys.argv[2:])
    for trial in (learner, instructor):
        try:
            trial(engine)
        finally:
            engine.clean()
