"""python -m lessons build [--check | --run] · python -m lessons check LESSON ANSWERS.py [--json]"""

import argparse
import sys

from ._build.refusal import Refused


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lessons", description="Build the course's notebooks, or run a lesson's checks.")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="write notebooks/, solutions/ and docs/pictures/ from lessons/ and the widgets")
    mode = build.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="write nothing; refuse what is not as its source gives it")
    mode.add_argument("--run", action="store_true", help="run the solved notebooks and refresh their outputs (`make notebooks`)")
    commands.add_parser("check", help="run a lesson's visible and hidden checks on the functions in a file")
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["check"]:  # needs no build tools, and has a help of its own
        from ._build.check_command import main as check_main

        return check_main(arguments[1:])
    options = parser.parse_args(arguments)
    from ._build import build as builder
    from ._build import pictures
    from ._build.course import read_course

    try:
        course = read_course()
        if options.check:
            files = builder.check(course)
            pictures.check_pictures()
        else:
            files = builder.build(course, run=options.run)
            pictures.write_pictures()
    except Refused as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 1
    print(f"{len(files)} notebooks {'are as their sources give them' if options.check else 'built'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
