"""What a container runs: JupyterLab on the mounted folder. python environments/serve.py learner|instructor

learner: as `make lab`, on copies of the notebooks in my-work/, which nothing overwrites. instructor: in the course's folder, where nbgrader
reads nbgrader_config.py. The folder is often somebody else's, since Docker mounts it with its owner: then this says what to do.
"""

import os
import sys
from pathlib import Path

FOLDERS = {"learner": Path("/lab/my-work"), "instructor": Path("/home/instructor/course")}


def main(target: str) -> None:
    folder = FOLDERS[target]
    if not os.access(folder, os.W_OK | os.X_OK):
        sys.exit(cannot_write(folder))
    if target == "learner":
        from open_lab import copy_new_notebooks

        for notebook in copy_new_notebooks():
            print(f"new: {notebook}")
    elif not (folder / "nbgrader_config.py").exists():
        print("There is no course here yet: stop this, and make one with `autograder init . --language en`. | "
              "这里还没有课程：请先停止，再用 `autograder init . --language zh` 建立。")
    sys.stdout.flush()
    root = ["--allow-root"] if os.geteuid() == 0 else []  # in a container without root's rights outside, root is who started it
    os.chdir(folder)
    os.execvp("jupyter", ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--ServerApp.port_retries=0", "--no-browser",
                          f"--ServerApp.root_dir={folder}", *root])


def cannot_write(folder: Path) -> str:
    own = 'sudo chown -R "$(id -u)" FOLDER', '--user "$(id -u)"'
    return (f"The folder mounted at {folder} is not one that user {os.getuid()} may write to. On your machine make it yours, {own[0]}, "
            f"and add {own[1]} to docker run (--user 0 if docker or podman runs without root).\n"
            f"用户 {os.getuid()} 无法写入挂载在 {folder} 的文件夹。请先在自己的机器上取得它：{own[0]}，"
            f"再给 docker run 加上 {own[1]}（docker 或 podman 不以 root 运行时用 --user 0）。")


if __name__ == "__main__":
    main(sys.argv[1])
