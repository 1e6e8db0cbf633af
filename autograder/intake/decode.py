"""Bytes → JSON: whatever encoding and whatever size, a value or a reason. Nothing is executed, and memory stays bounded."""

import json

from advantagelab.message import Message, message

from ..submission import Ungradable

MAX_BYTES = 100 * 2**20
MAX_VALUES = 2_000_000  # of JSON, outside strings: parsed, they take up to some hundred MiB
SMALL = 4 * 2**20  # characters: too few for so many values
MAX_DIGITS = 19  # of a whole number; longer ones stand nowhere that matters

KINDS = (  # how files that are not text begin
    (b"PK\x03\x04", "a zip archive or an Office document: unpack it, and hand in the .ipynb file",
     "压缩包或 Office 文档：请解压后提交 .ipynb 文件"),
    (b"%PDF", "a PDF: hand in the .ipynb file itself", "PDF 文件：请提交 .ipynb 文件本身"),
    (b"\x1f\x8b", "a gzip archive: unpack it, and hand in the .ipynb file", "gzip 压缩包：请解压后提交 .ipynb 文件"),
    (b"Rar!", "a RAR archive: unpack it, and hand in the .ipynb file", "RAR 压缩包：请解压后提交 .ipynb 文件"),
    (b"7z\xbc\xaf", "a 7z archive: unpack it, and hand in the .ipynb file", "7z 压缩包：请解压后提交 .ipynb 文件"),
    (b"\x89PNG", "a picture: hand in the .ipynb file itself", "图片：请提交 .ipynb 文件本身"),
    (b"\xff\xd8\xff", "a picture: hand in the .ipynb file itself", "图片：请提交 .ipynb 文件本身"),
)


def refuse(en: str, zh: str) -> Ungradable:
    return Ungradable(message(en=en, zh=zh))


def read_json(data: bytes) -> tuple[dict, list[Message]]:
    """The JSON object in a file, and what had to be put right to read it."""
    text, repairs = _text(data)
    if len(text) > SMALL and _values(text) > MAX_VALUES:
        raise refuse(f"The file holds more than {MAX_VALUES:,} values: clear the outputs and hand in again.",
                     f"文件中的值超过 {MAX_VALUES:,} 个：请清除输出后重新提交。")
    twice = []

    def unique(pairs: list) -> dict:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            twice.append(len(pairs) - len(fields))
        return fields

    decoder = json.JSONDecoder(object_pairs_hook=unique, parse_int=lambda digits: int(digits) if len(digits) <= MAX_DIGITS else 0)
    try:
        value, end = decoder.raw_decode(text)
    except RecursionError:
        raise refuse("The JSON is nested too deeply for a notebook.", "JSON 嵌套过深，不是 notebook。") from None
    except json.JSONDecodeError as error:
        raise _not_json(text, error) from None
    repairs += _tail(text[end:])
    if twice:
        repairs.append(message(en="Fields that stood twice in one JSON object: the last one counts, as in Jupyter.",
                               zh="同一 JSON 对象中重复的字段：以最后一个为准，与 Jupyter 相同。"))
    if not isinstance(value, dict):
        raise refuse("JSON, but not a notebook: the file holds no object.", "是 JSON，但不是 notebook：文件中不是一个对象。")
    return value, repairs


def _text(data: bytes) -> tuple[str, list[Message]]:
    if len(data) > MAX_BYTES:
        raise refuse(f"The file is larger than {MAX_BYTES // 2**20} MiB: clear the outputs and hand in again.",
                     f"文件超过 {MAX_BYTES // 2**20} MiB：请清除输出后重新提交。")
    for begin, en, zh in KINDS:
        if data.startswith(begin):
            raise refuse(f"Not a notebook but {en}.", f"不是 notebook，而是{zh}。")
    encoding, repairs = json.detect_encoding(data), []
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text, repairs = _broken_text(data, encoding)
    else:
        if encoding == "utf-8-sig":
            repairs = [message(en="The file began with a byte order mark (BOM).", zh="文件以字节顺序标记（BOM）开头。")]
        elif encoding != "utf-8":
            repairs = [_read_as(encoding.upper())]
    text = text.strip("\ufeff\0 \t\r\n")
    if not text:
        raise refuse("The file is empty.", "文件是空的。")
    return text, repairs


def _broken_text(data: bytes, encoding: str) -> tuple[str, list[Message]]:
    """GB18030 where almost nothing beyond ASCII is UTF-8; else the text with a sign in place of what cannot be read."""
    text = data.decode(encoding, errors="replace")
    lost = text.count("\ufffd")
    if encoding.startswith("utf-8") and lost > len(data.translate(None, bytes(range(128)))) / 2:
        try:
            return data.decode("gb18030"), [_read_as("GB18030")]
        except UnicodeDecodeError:
            pass
    return text, [message(en=f"Characters that could not be read ({lost}) were replaced by �.",
                          zh=f"无法读取的字符（{lost} 个）已换成 �。")]


def _read_as(name: str) -> Message:
    return message(en=f"Read as {name}.", zh=f"按 {name} 编码读取。")


def _values(text: str) -> int:
    """About how many values JSON text holds: signs that separate or open one, outside strings. Counted without parsing."""
    plain = text.replace("\\\\", "").replace('\\"', "")
    quotes = plain.count('"')
    if quotes > 2 * MAX_VALUES:
        return quotes // 2
    return sum(part.count(",") + part.count("[") + part.count("{") for part in plain.split('"')[::2])


def _tail(tail: str) -> list[Message]:
    tail = tail.strip("\0 \t\r\n")
    if not tail:
        return []
    if tail.startswith("{"):
        raise refuse("Two JSON objects in one file: hand in one notebook.", "一个文件里有两个 JSON 对象：请只提交一个 notebook。")
    return [message(en="Text after the end of the notebook was left out.", zh="notebook 结尾之后的文字已略去。")]


def _not_json(text: str, error: json.JSONDecodeError) -> Ungradable:
    if text.startswith("<"):
        return refuse("Not a notebook but a web page: download the .ipynb file itself.",
                      "不是 notebook，而是网页：请下载 .ipynb 文件本身。")
    if text.startswith("version https://git-lfs"):
        return refuse("Not a notebook but a Git LFS pointer to one.", "不是 notebook，而是指向它的 Git LFS 指针文件。")
    if not text.startswith(("{", "[")):
        return refuse("Not a notebook but other text, such as a script.", "不是 notebook，而是其他文本，例如脚本。")
    if "\n<<<<<<< " in text and "\n>>>>>>> " in text:
        return refuse("The file holds the marks of an unfinished Git merge.", "文件中有未完成的 Git 合并标记。")
    if error.msg.startswith("Unterminated") or error.pos >= len(text):
        return refuse("The file ends in the middle: the download or upload was cut short.", "文件不完整：下载或上传中断了。")
    return refuse(f"Not valid JSON: line {error.lineno}, column {error.colno}.",
                  f"不是有效的 JSON：第 {error.lineno} 行第 {error.colno} 列。")
