"""Plain data: the only values that may cross between a grader and a student's process. Structure by JSON, tensors by safetensors.

A message is 8 bytes, the little-endian length of the JSON; the JSON; and, if the value holds tensors, a safetensors file.
In the JSON an object carries one tag: {"dict": {…}}, {"tuple": […]}, {"float": "nan"} (or inf, -inf), {"tensor": [number, requires_grad]},
{"same": number} where an earlier tensor stands again. Everything else stands for itself.
Nothing is ever executed, and whatever the bytes are, `unpack` gives a plain value or PlainDataError.
"""

import json
import math

import torch
from safetensors.torch import load

MAX_MESSAGE = 16 * 2**20  # bytes, all in all
MAX_STRUCTURE = 2**20  # bytes of JSON. Parsed, 1 MiB of it takes at most about 40 MiB of memory
MAX_TEXT = 64 * 2**10  # bytes of UTF-8, of one string or key
MAX_TENSORS = 64
MAX_SAME = 1000  # places where a tensor may stand again: whoever walks through a value meets it in all of them
MAX_DEPTH = 4  # containers within containers
MAX_HEADER = 64 * 2**10  # bytes of safetensors header
DTYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.float16, torch.bfloat16, torch.float32, torch.float64)
DTYPE_NAMES = dict(zip(DTYPES, ("BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64"), strict=True))  # of safetensors
SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class PlainDataError(ValueError):
    """A value or a message that is not plain data: where, and what is wrong.

    place: the name of the whole, then the keys and indices that lead to the part: ["arguments[1]", "spans", 3]
    """

    def __init__(self, en: str, zh: str):
        super().__init__(en, zh)
        self.place = []

    def inside(self, step: str | int) -> "PlainDataError":
        """The same, seen from a container: the place grows on the way out, so that nothing is spent on it where all is well."""
        self.place.insert(0, step)
        return self

    def __str__(self) -> str:
        en, zh = self.args
        where = self.place[0] + "".join(f"[{step}]" if type(step) is int else f".{step[:60]}" for step in self.place[1:])
        return f"{where}: {en} | {where}：{zh}"


def pack(value, place: str = "value", depth: int = MAX_DEPTH) -> bytes:
    """A plain value as a message. | 把普通数据打包为消息。

    value: None, bool, 64-bit int, float, str, list, tuple, dict with str keys, dense CPU tensor, at most `depth` containers deep
    place: what errors call the value: "arguments[1]" gives "arguments[1].spans[3]: …"
    PlainDataError: anything else, or more than the limits allow | 其他类型，或超出限制
    """
    packer = _Packer(depth)
    try:
        structure = _ENCODER.encode(packer.encode(value, 0)).encode("utf-8")
        if len(structure) > MAX_STRUCTURE:
            raise _structure_too_large()
        message = len(structure).to_bytes(8, "little") + structure + (_save(packer.tensors) if packer.tensors else b"")
        if len(message) > MAX_MESSAGE:
            raise _message_too_large()
        return message
    except PlainDataError as error:
        raise error.inside(place) from None


def unpack(message: bytes, place: str = "value", depth: int = MAX_DEPTH):
    """The value in a message, whoever wrote it. | 还原消息中的值，无论消息由谁写成。

    Tensors are fresh memory: changing one changes nothing else. A tensor that stood in several places does so again.
    PlainDataError: not a message that `pack` could have written for a plain value | 不是普通数据的消息
    """
    try:
        if len(message) > MAX_MESSAGE:
            raise _message_too_large()
        size = int.from_bytes(message[:8], "little")
        if len(message) < 8 or size > min(MAX_STRUCTURE, len(message) - 8):
            raise PlainDataError("cut short, or its length is a lie", "消息不完整，或长度有误")
        structure, tensors = _parse(bytes(message[8:8 + size])), _load(bytes(message[8 + size:]))
        unpacker = _Unpacker(tensors, depth)
        value = unpacker.decode(structure, 0)
        if len(unpacker.tensors) < len(tensors):
            raise PlainDataError("it holds tensors that the value does not use", "含有未被使用的张量")
        return value
    except PlainDataError as error:
        raise error.inside(place) from None


def tensors_of(value) -> list[torch.Tensor]:
    """The tensors in a plain value, in the order of their numbers in its message, each once. | 值中的张量，各出现一次。"""
    found = {}

    def walk(part):
        if isinstance(part, torch.Tensor):
            found.setdefault(id(part), part)
        elif type(part) in (list, tuple, dict):
            for item in part.values() if type(part) is dict else part:
                walk(item)

    walk(value)
    return list(found.values())


def tensor_bytes(tensor: torch.Tensor) -> bytes:
    """The values of a CPU tensor in their order, as memory holds them. | 张量各元素按顺序的字节。"""
    values = tensor.detach().resolve_neg()
    if tensor.dtype == torch.bfloat16:  # numpy has none
        values = values.clone(memory_format=torch.contiguous_format).view(torch.int16)
    return values.numpy().tobytes()


def with_tensors(value, tensors: list[torch.Tensor]):
    """The value with other tensors in the places of its own, in the order of `tensors_of`. | 换上其他张量的值。"""
    new = dict(zip(map(id, tensors_of(value)), tensors, strict=True))

    def walk(part):
        if isinstance(part, torch.Tensor):
            return new[id(part)]
        if type(part) is dict:
            return {key: walk(item) for key, item in part.items()}
        return type(part)(map(walk, part)) if type(part) in (list, tuple) else part

    return walk(value)


class _Packer:
    def __init__(self, max_depth: int):
        self.max_depth, self.tensors, self.tensor_bytes, self.structure_bytes, self.same = max_depth, [], 0, 0, 0
        self.numbers = {}  # of the tensors so far, by id

    def encode(self, value, depth: int):
        kind = type(value)
        self._count(len(value) if kind is str else 0)
        if value is None or kind is bool:
            return value
        if kind is int:
            return _checked_int(value)
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind is str:
            return _checked_text(value)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            return self._tensor(value)
        if kind not in (list, tuple, dict):
            raise PlainDataError(f"{kind.__name__} is not plain data", f"{kind.__name__} 不是普通数据")
        _check_depth(depth, self.max_depth)
        if kind is dict:
            for key in value:
                self._count(len(_checked_key(key)))
        parts = []
        try:
            for part in value.values() if kind is dict else value:
                parts.append(self.encode(part, depth + 1))
        except PlainDataError as error:
            raise error.inside(list(value)[len(parts)] if kind is dict else len(parts)) from None
        return parts if kind is list else {"tuple": parts} if kind is tuple else {"dict": dict(zip(value, parts))}

    def _count(self, characters: int) -> None:
        """A lower bound, kept on the way: a list may hold one and the same list or text a million times."""
        self.structure_bytes += 2 + characters
        if self.structure_bytes > MAX_STRUCTURE:
            raise _structure_too_large()

    def _tensor(self, tensor: torch.Tensor) -> dict:
        if id(tensor) in self.numbers:
            self.same = _checked_same(self.same + 1)
            return {"same": self.numbers[id(tensor)]}
        if tensor.dtype not in DTYPE_NAMES or tensor.layout != torch.strided or not tensor.is_cpu:
            what = f"{tensor.dtype}, {tensor.layout}, {tensor.device}"
            raise PlainDataError(f"a tensor of this kind ({what}) is not plain data", f"此类张量（{what}）不是普通数据")
        self.tensor_bytes += _places(tensor) * tensor.element_size()  # of the copy: an expanded tensor has less memory of its own
        if len(self.tensors) == MAX_TENSORS or self.tensor_bytes > MAX_MESSAGE:
            raise PlainDataError(f"more than {MAX_TENSORS} tensors or {MAX_MESSAGE} bytes of them",
                                 f"张量超过 {MAX_TENSORS} 个或 {MAX_MESSAGE} 字节")
        number = self.numbers[id(tensor)] = len(self.tensors)
        self.tensors.append(tensor)
        return {"tensor": [number, tensor.requires_grad]}


def _save(tensors: list[torch.Tensor]) -> bytes:
    """A safetensors file. Written here, since the library's own `save` takes four times as long for tensors as small as a check's."""
    entries, data, end = [], [], 0
    for number, tensor in enumerate(tensors):
        data.append(tensor_bytes(tensor))
        begin, end = end, end + len(data[-1])
        entries.append(f'"{number}":{{"dtype":"{DTYPE_NAMES[tensor.dtype]}","shape":{list(tensor.shape)},"data_offsets":[{begin},{end}]}}')
    header = f"{{{','.join(entries)}}}".encode("ascii")
    header += b" " * (-len(header) % 8)
    return b"".join([len(header).to_bytes(8, "little"), header, *data])


class _Unpacker:
    """Rebuilds the value. Tensors are numbered in the order in which the value names them first."""

    def __init__(self, loaded: dict[str, torch.Tensor], max_depth: int):
        self.loaded, self.max_depth, self.tensors, self.same = loaded, max_depth, [], 0

    def decode(self, node, depth: int):
        kind = type(node)
        if node is None or kind is bool or kind is float:
            return node
        if kind is int:
            return _checked_int(node)
        if kind is str:
            return _checked_text(node)
        if kind is list:
            return self._items(node, depth)
        tag, content = next(iter(node.items())) if len(node) == 1 else (None, None)
        if tag == "tensor" and type(content) is list and len(content) == 2:
            return self._tensor(*content)
        if tag == "same" and type(content) is int and 0 <= content < len(self.tensors):
            self.same = _checked_same(self.same + 1)
            return self.tensors[content]
        if tag == "tuple" and type(content) is list:
            return tuple(self._items(content, depth))
        if tag == "dict" and type(content) is dict:
            _check_depth(depth, self.max_depth)
            return {_checked_key(key): self.decode(item, depth + 1) for key, item in content.items()}
        if tag == "float" and type(content) is str and content in SPECIAL_FLOATS:
            return SPECIAL_FLOATS[content]
        raise PlainDataError("an object that is no dict, tuple, float or tensor", "对象不是字典、元组、浮点数或张量")

    def _items(self, items: list, depth: int) -> list:
        _check_depth(depth, self.max_depth)
        return [self.decode(item, depth + 1) for item in items]

    def _tensor(self, number, requires_grad) -> torch.Tensor:
        tensor = self.loaded.get(str(len(self.tensors)))
        if type(number) is not int or number != len(self.tensors) or tensor is None:
            raise PlainDataError("this tensor is missing, or not the next one", "缺少该张量，或次序不对")
        if type(requires_grad) is not bool or (requires_grad and not tensor.is_floating_point()):
            raise PlainDataError("only a float tensor can require a gradient", "只有浮点张量可以要求梯度")
        self.tensors.append(tensor.requires_grad_() if requires_grad else tensor)
        return tensor


def _parse(text: bytes):
    try:
        return _DECODER.decode(text.decode("utf-8"))
    except PlainDataError:
        raise
    except (ValueError, RecursionError) as error:
        raise PlainDataError(f"not JSON ({type(error).__name__})", f"不是 JSON（{type(error).__name__}）") from error


def _pairs(items: list) -> dict:
    table = dict(items)
    if len(table) < len(items):
        raise PlainDataError("a key stands twice", "键重复")
    return table


def _constant(name: str):
    raise PlainDataError(f"{name} is not JSON", f"{name} 不是 JSON")


def _whole(digits: str) -> int:
    if len(digits) > 20:  # 64 bits have 19 digits and a sign
        raise PlainDataError("a whole number of more than 64 bits", "整数超出 64 位")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise PlainDataError("a number too large for a float", "数值超出浮点范围")
    return value


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_whole, parse_float=_finite)


def _load(data: bytes) -> dict[str, torch.Tensor]:
    if not data:
        return {}
    if int.from_bytes(data[:8], "little") > MAX_HEADER:
        raise PlainDataError("the header of its tensors is too long", "张量头过长")
    try:
        tensors = load(data)
    except Exception as error:  # the library's own errors, and those of torch for shapes that no memory could hold
        raise PlainDataError(f"its tensors cannot be read ({type(error).__name__})",
                             f"张量无法读取（{type(error).__name__}）") from error
    if not 1 <= len(tensors) <= MAX_TENSORS or not {tensor.dtype for tensor in tensors.values()} <= DTYPE_NAMES.keys():
        raise PlainDataError("too many tensors, or of a dtype that is not plain data", "张量过多，或其类型不是普通数据")
    for tensor in tensors.values():
        if _places(tensor) > MAX_MESSAGE:
            raise PlainDataError("a tensor without elements that is very long", "没有元素却很长的张量")
        if tensor.dtype == torch.bool and tensor.numel() and tensor.view(torch.uint8).max() > 1:
            raise PlainDataError("a bool that is neither 0 nor 1", "布尔值既不是 0 也不是 1")
    return tensors


def _places(tensor: torch.Tensor) -> int:
    """Its elements; of a tensor of shape [1000, 0] the 1000, over which one can loop all the same."""
    return math.prod(max(1, size) for size in tensor.shape)


def _structure_too_large() -> PlainDataError:
    return PlainDataError(f"more than {MAX_STRUCTURE} bytes without tensors", f"张量之外的内容超过 {MAX_STRUCTURE} 字节")


def _message_too_large() -> PlainDataError:
    return PlainDataError(f"more than {MAX_MESSAGE} bytes", f"超过 {MAX_MESSAGE} 字节")


def _check_depth(depth: int, allowed: int) -> None:
    if depth == allowed:
        raise PlainDataError(f"nested more than {allowed} deep", f"嵌套超过 {allowed} 层")


def _checked_same(times: int) -> int:
    if times > MAX_SAME:
        raise PlainDataError(f"tensors that stand again in more than {MAX_SAME} places", f"张量重复出现超过 {MAX_SAME} 处")
    return times


def _checked_int(value: int) -> int:
    if not -2**63 <= value < 2**63:
        raise PlainDataError("a whole number of more than 64 bits", "整数超出 64 位")
    return value


def _checked_text(text: str) -> str:
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise PlainDataError("text with half a character (a lone surrogate)", "文本含不完整的字符（孤立代理项）") from None
    if size > MAX_TEXT:
        raise PlainDataError(f"text of more than {MAX_TEXT} bytes", f"文本超过 {MAX_TEXT} 字节")
    return text


def _checked_key(key) -> str:
    if type(key) is not str:
        raise PlainDataError(f"a key of type {type(key).__name__}: keys are str", f"键的类型为 {type(key).__name__}，应为 str")
    return _checked_text(key)
