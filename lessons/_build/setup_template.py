#@title Set-up: run this cell first | 准备：先运行本单元
# Read-only, built from the course's sources. | 只读，由课程源文件生成。
language = "LANGUAGE"


def _stop(en, zh):
    error = ImportError(f"{en} | {zh}")
    error._render_traceback_ = lambda: [f"ImportError: {en}", zh]  # a traceback would show the long line below
    raise error


def _require():
    """Say what to do where the course cannot run, before anything is imported or unpacked."""
    import re
    import sys

    have = ".".join(map(str, sys.version_info[:2]))
    if sys.version_info < (3, 11):
        _stop(f"This kernel runs Python {have}; the course needs 3.11 or newer. Choose another kernel, or install a newer Python.",
              f"当前内核是 Python {have}，本课程需要 3.11 及以上。请换一个内核，或安装新版 Python。")
    import importlib.metadata
    import importlib.util

    wrong, wrong_zh, install = [], [], []
    for name, least in (("torch", "2.10"), ("numpy", "2.0"), ("matplotlib", "3.10"), ("ipywidgets", "7.7.1")):
        try:
            version = importlib.metadata.version(name) or ""
        except importlib.metadata.PackageNotFoundError:
            version = ""  # built by hand, or missing
        loaded = getattr(sys.modules.get(name), "__version__", version)
        if importlib.util.find_spec(name) is None:
            wrong.append(f"{name} is missing")
            wrong_zh.append(f"缺少 {name}")
        elif version and loaded.partition("+")[0] != version.partition("+")[0]:
            _stop(f"{name} {loaded} is loaded, but {version} is installed. Restart the kernel, then run this cell again.",
                  f"已载入的是 {name} {loaded}，安装的却是 {version}。请重启内核，再运行本单元。")
        elif version and [int(part) for part in re.findall(r"\d+", version)[:3]] < [int(part) for part in least.split(".")]:
            wrong.append(f"{name} {version} is too old")
            wrong_zh.append(f"{name} {version} 太旧")
        else:
            continue
        install.append(f'"{name}>={least}"')
    if wrong:
        command = f"%pip install {' '.join(install)}"
        _stop(f"{', '.join(wrong)}. In a new cell run: {command}  Then restart the kernel and run this cell again.",
              f"{'，'.join(wrong_zh)}。在新单元中运行：{command}  然后重启内核，再运行本单元。")


def _advantagelab(version, digest, payload):
    """Import advantagelab of this version: installed, else from a checkout above this folder, else the copy in this cell."""
    _require()
    import base64
    import hashlib
    import importlib
    import io
    import sys
    import zipfile
    import zlib

    try:
        data = base64.b85decode(payload)
    except ValueError:
        data = b""
    if hashlib.sha256(data).hexdigest() != digest:
        _stop("This cell was changed: take a fresh copy of the notebook and move your answers into it.",
              "本单元已被改动：请重新取一份 notebook，再把你的答案移过去。")
    archive = zipfile.ZipFile(io.BytesIO(zlib.decompress(data)))
    package = sys.modules.get("advantagelab")
    if package is None or package.__version__ != version:
        for name in [name for name in sys.modules if name.split(".")[0] == "advantagelab"]:
            del sys.modules[name]
        package = _import(version, archive)
    importlib.import_module("advantagelab.learn").open_lesson(archive.read("advantagelab/lesson.json"))
    return package


def _import(version, archive):
    import atexit
    import importlib.metadata
    import pathlib
    import shutil
    import sys
    import tempfile

    try:
        if importlib.metadata.version("advantagelab") == version:
            return importlib.import_module("advantagelab")
    except (ImportError, OSError):
        pass  # not installed, or installed and broken: go on
    here = pathlib.Path.cwd()
    for folder in (here, *here.parents):
        source = folder / "advantagelab" / "__init__.py"
        if source.is_file() and f'__version__ = "{version}"' in source.read_text(encoding="utf-8"):
            break
    else:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="advantagelab-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        archive.extractall(folder)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    return importlib.import_module("advantagelab")


advantagelab = _advantagelab("VERSION", "DIGEST", "PAYLOAD")
advantagelab.set_language(language)

import math

import torch

from advantagelab import widgets
from advantagelab.checking import expect_close, message, run_checks
from advantagelab.learn import hint, progress, reset

print(f"Advantage Lab {advantagelab.__version__} · torch {torch.__version__}")
