"""python -m tests.bench [NAME]: run the benches in this folder, or the one called NAME, and print a line a figure.

A bench is a module NAME.py here with a function `lines()` that yields (what, figure, bar, whether the bar is met).
"""

import importlib
import pkgutil
import sys

import tests.bench

NAMES = sorted(module.name for module in pkgutil.iter_modules(tests.bench.__path__) if module.name != "__main__")


def main(wanted: list[str]) -> None:
    unknown = set(wanted) - set(NAMES)
    if unknown:
        raise SystemExit(f"no bench called {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    for name in wanted or NAMES:
        for what, figure, bar, met in importlib.import_module(f"tests.bench.{name}").lines():
            print(f"{name}: {what}, {figure}, {bar}, {'met' if met else 'short'}", flush=True)


if __name__ == "__main__":
    main([argument for argument in sys.argv[1:] if argument])
