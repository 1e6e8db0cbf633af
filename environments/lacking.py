"""What an environment lacks of its lock. Run by that environment's own Python: lacking.py LOCK [the folder of our package]

A line a package: "NAME absent", "NAME other" (another version) or "NAME damaged" (files of it are gone).
"""

import re
import sys
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path


def main(lock: str, package: str | None = None) -> None:
    there = {canonical(distribution.metadata["Name"] or ""): distribution for distribution in distributions()}
    for line in Path(lock).read_text(encoding="utf-8").splitlines():
        name, pinned, version = line.partition("==")
        if not pinned or line.startswith("#"):
            continue
        distribution = there.get(canonical(name))
        if distribution is None:
            print(name, "absent")
        elif plain(distribution.version) != plain(version):
            print(name, "other")
        elif not is_whole(distribution):
            print(name, "damaged")
    if package:
        found = find_spec(Path(package).name)  # as a notebook finds it: this script's folder is not the checkout
        if found is None or Path(found.origin).parent != Path(package):
            print(Path(package).name, "absent")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def plain(version: str) -> str:
    """Without what a build adds, as in 2.13.0+cpu."""
    return version.partition("+")[0]


def is_whole(distribution) -> bool:
    """All its files are there. Compiled ones come and go; one that lists no files was not installed by pip."""
    files = distribution.files
    return bool(files) and all(file.suffix == ".pyc" or file.locate().exists() for file in files)


if __name__ == "__main__":
    main(*sys.argv[1:])
