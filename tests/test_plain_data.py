"""Plain data: what may cross between a grader and a student's process, and what hostile bytes can do (nothing)."""

import json
import math
import random
import re
import struct
import tracemalloc
from importlib import import_module

import pytest
import torch
from safetensors.torch import save

from advantagelab.checking import judge
from autograder.plain_data import (
    DTYPES,
    MAX_DEPTH,
    MAX_MESSAGE,
    MAX_SAME,
    MAX_STRUCTURE,
    MAX_TENSORS,
    MAX_TEXT,
    PlainDataError,
    pack,
    tensors_of,
    unpack,
    with_tensors,
)
from lessons._build.answers import reference
from lessons._build.code_cells import Module
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson


def same(left, right) -> bool:
    """Equal in type, value, order of keys, dtype, shape and requires_grad; NaN equals NaN, 0.0 is not -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        if (left.dtype, left.shape, left.requires_grad) != (right.dtype, right.shape, right.requires_grad):
            return False
        copies = (tensor.detach().clone(memory_format=torch.contiguous_format) for tensor in (left, right))
        return torch.equal(*(copy.reshape(-1).view(torch.uint8) for copy in copies))
    if isinstance(left, float):
        return struct.pack("d", left) == struct.pack("d", right) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return left == right


def random_tensor(rng: random.Random) -> torch.Tensor:
    shape = [rng.randint(0, 3) for _ in range(rng.randint(0, 3))]
    dtype = rng.choice(DTYPES)
    numbers = torch.tensor([rng.uniform(-100, 100) for _ in range(math.prod(shape))], dtype=torch.float64).reshape(shape)
    tensor = (numbers > 0) if dtype == torch.bool else numbers.abs().to(dtype) if dtype == torch.uint8 else numbers.to(dtype)
    if tensor.ndim >= 2 and rng.random() < 0.5:
        tensor = tensor.transpose(0, 1)  # not contiguous
    return tensor.requires_grad_(tensor.is_floating_point() and rng.random() < 0.5)


def random_value(rng: random.Random, depth: int = 0):
    scalars = [lambda: None, lambda: rng.random() < 0.5, lambda: rng.randint(-2**63, 2**63 - 1), lambda: rng.uniform(-1e300, 1e300),
               lambda: rng.choice([math.nan, math.inf, -math.inf, -0.0, 5e-324]), lambda: random_tensor(rng),
               lambda: "".join(rng.choice('aé汉🙂"\\\n\0{[') for _ in range(rng.randint(0, 8)))]
    if depth == MAX_DEPTH or rng.random() < 0.4:
        return rng.choice(scalars)()
    items = [random_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return rng.choice([list, tuple, lambda items: {f"{rng.choice('k键$')}{index}": item for index, item in enumerate(items)}])(items)


def message(structure, tensors: dict | None = None) -> bytes:
    """A message written by hand: any JSON, any tensors."""
    text = structure if isinstance(structure, bytes) else json.dumps(structure).encode()
    return len(text).to_bytes(8, "little") + text + (save(tensors) if tensors else b"")


def with_header(structure, header, data: bytes = b"") -> bytes:
    """A message whose safetensors header is written by hand."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return message(structure) + len(text).to_bytes(8, "little") + text + data


def test_random_values_come_back_as_they_went():
    rng = random.Random(7)
    containers = 0
    for _ in range(400):
        value = random_value(rng)
        containers += isinstance(value, (list, tuple, dict))
        assert same(unpack(pack(value)), value), value
    assert containers > 100


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_each_dtype_with_no_one_and_many_dimensions(dtype):
    for shape in ((), (0,), (3,), (2, 0, 4), (2, 3, 4)):
        tensor = torch.ones(shape, dtype=dtype)
        assert same(unpack(pack([tensor])), [tensor])


def test_tensors_come_back_as_memory_of_their_own():
    tensor = torch.zeros(3)
    first, second = unpack(pack([tensor, tensor[:]]))
    first += 1
    assert tensor.tolist() == second.tolist() == [0, 0, 0]
    assert unpack(pack(torch.ones(2, requires_grad=True) * 2)).is_leaf


def test_one_tensor_in_several_places_stays_one():
    tensor, other = torch.zeros(3), torch.zeros(3)
    first, (second, third), fourth = unpack(pack([tensor, (other, tensor), {"again": tensor}]))
    assert first is third is fourth["again"] and first is not second


def test_the_largest_and_the_oddest_tensors_are_written_as_the_library_would():
    """Our own writer of safetensors against the library's reader: views, negations, a scalar, nothing at all."""
    base = torch.arange(24.0).reshape(4, 6)
    complex_part = torch.complex(torch.zeros(2), torch.ones(2)).conj().imag  # negated only when it is read
    assert complex_part.is_neg()
    odd = torch.tensor(1.0).expand(1, 1), complex_part, torch.tensor(2.5, dtype=torch.bfloat16), base.bfloat16().T
    for tensor in (base.T, base[::2, 1::3], base[1:1], base.expand(3, 4, 6), *odd):
        assert same(unpack(pack([tensor, tensor.clone()])), [tensor, tensor.clone()])


def test_tensors_are_found_in_the_order_of_their_numbers_and_replaced():
    a, b, c = torch.zeros(1), torch.ones(2), torch.tensor(3)
    value = [b, {"x": (a, b, 1), "y": [c, None]}]
    assert [id(tensor) for tensor in tensors_of(value)] == [id(b), id(a), id(c)]
    assert all(map(same, tensors_of(unpack(pack(value))), [b, a, c]))
    x, y, z = torch.zeros(4), torch.zeros(5), torch.zeros(6)
    replaced = with_tensors(value, [x, y, z])
    assert replaced[0] is x and replaced[1]["x"][0] is y and replaced[1]["x"][1] is x and replaced[1]["y"][0] is z
    assert replaced[1]["x"][2] == 1 and value[0] is b


def test_a_greater_depth_may_be_allowed():
    with pytest.raises(PlainDataError):
        unpack(pack([[[[[1]]]]], depth=5))
    assert unpack(pack([[[[[1]]]]], depth=5), depth=5) == [[[[[1]]]]]


@pytest.mark.parametrize("value, words", [
    ([1, {"spans": [0, 0, 0, object()]}], "arguments[1].spans[3]: object is not plain data"),
    ({"f": {"键": lambda: 0}}, "arguments.f.键: function is not plain data"),
    (2**63, "arguments: a whole number of more than 64 bits"),
    ([-2**63 - 1], "arguments[0]: a whole number"),
    ({1: 2}, "a key of type int"),
    ({"k": b"bytes"}, "arguments.k: bytes is not plain data"),
    ([{1, 2}], "arguments[0]: set is not plain data"),
    (1j, "complex is not plain data"),
    ("\ud800", "half a character"),
    ({"\udfff": 1}, "half a character"),
    ("x" * (MAX_TEXT + 1), "arguments: text of more than"),
    ({"x" * (MAX_TEXT + 1): 1}, "text of more than"),
    (["汉" * (MAX_TEXT // 3 + 1)], "arguments[0]: text of more than"),
    ([[[[[1]]]]], f"arguments[0][0][0][0]: nested more than {MAX_DEPTH} deep"),
    ([torch.zeros(2, dtype=torch.complex64)], "arguments[0]: a tensor of this kind"),
    (torch.eye(2).to_sparse(), "a tensor of this kind"),
    (torch.zeros(2, device="meta"), "a tensor of this kind"),
    ([torch.zeros(1) for _ in range(MAX_TENSORS + 1)], f"arguments[{MAX_TENSORS}]: more than"),
    (torch.zeros(MAX_MESSAGE // 8 + 1, dtype=torch.float64), "arguments: more than"),
    (torch.zeros(1).expand(10**12), "arguments: more than"),
    (torch.zeros(10**12, 0), "arguments: more than"),
    ([torch.zeros(MAX_MESSAGE // 4, dtype=torch.float32)], "arguments: more than"),  # as large as may be, but for the message around it
    (["x" * MAX_TEXT] * 17, "arguments[15]: more than"),
    ([0] * (MAX_STRUCTURE // 2 + 1), "more than"),
    ([torch.zeros(1)] * (MAX_SAME + 2), f"arguments[{MAX_SAME + 1}]: tensors that stand again in more than"),
    (['"' * MAX_TEXT] * 9, "arguments: more than"),  # longer as JSON than as text
], ids=lambda value: value[:40] if isinstance(value, str) else type(value).__name__)
def test_what_may_not_cross_is_named_with_its_place(value, words):
    with pytest.raises(PlainDataError) as refused:
        pack(value, place="arguments")
    assert words in str(refused.value) and " | " in str(refused.value)


def test_the_largest_that_may_cross():
    for value in ("x" * MAX_TEXT, [torch.zeros(2)] * (MAX_SAME + 1), [torch.zeros(2) for _ in range(MAX_TENSORS)], [[[[1]]]],
                  torch.zeros(MAX_MESSAGE // 4 - 100), 2**63 - 1, -2**63):
        assert same(unpack(pack(value)), value)


def test_a_value_that_holds_itself_or_a_billion_others_is_refused_at_once():
    loop = []
    loop.append(loop)
    wide = [[[0] * 1000] * 1000] * 1000
    keys = [[{"k" * 60_000: 0}] * 1000] * 1000
    for value in (loop, wide, keys):
        with pytest.raises(PlainDataError):
            pack(value)


ONE = {"tensor": [0, False]}
F32 = {"0": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
HOSTILE = {
    "empty": b"",
    "shorter than a length": b"\x01\0\0",
    "a length without text": (5).to_bytes(8, "little"),
    "a length of 2^64": b"\xff" * 8 + b"1",
    "longer than a message may be": b"\0" * (MAX_MESSAGE + 1),
    "more structure than may be": message(b" " * (MAX_STRUCTURE + 1)),
    "no JSON": message(b"{'a'}"),
    "JSON and a half": message(b"1 2"),
    "not UTF-8": message(b'"\xff"'),
    "UTF-16": message('"a"'.encode("utf-16")),
    "NaN": message(b"[NaN]"),
    "Infinity": message(b"-Infinity"),
    "a float that overflows": message(b"1e999"),
    "an int of 65 bits": message(b"9223372036854775808"),
    "an int of 4000 digits": message(b"9" * 4000),
    "an int of 100 000 digits": message(b"9" * 100_000),
    "a key twice": message(b'{"dict": {"a": 1, "a": 2}}'),
    "a tag twice": message(b'{"dict": {}, "dict": {}}'),
    "two tags": message({"dict": {}, "tuple": []}),
    "no tag": message({}),
    "an unknown tag": message({"object": "os.system"}),
    "a bare dict": message({"a": 1}),
    "a tuple that is no list": message({"tuple": {"0": 1}}),
    "a float by another name": message({"float": "NaN"}),
    "a float of a list": message({"float": ["nan"]}),
    "half a character": message(b'"\\ud800"'),
    "a long text": message("x" * (MAX_TEXT + 1)),
    "five deep": message([[[[[1]]]]]),
    "five deep in tags": message({"tuple": [{"dict": {"a": {"tuple": [[[]]]}}}]}),
    "100 000 deep": message(b"[" * 100_000),
    "100 000 deep and closed": message(b"[" * 100_000 + b"]" * 100_000),
    "100 000 deep in objects": message(b'{"dict":' * 100_000),
    "a tensor that is not there": message(ONE),
    "a tensor nobody uses": message(1, {"0": torch.zeros(1)}),
    "a tensor twice": message([ONE, ONE], {"0": torch.zeros(1)}),
    "tensors in another order": message([{"tensor": [1, False]}, ONE], {"0": torch.zeros(1), "1": torch.zeros(1)}),
    "a tensor with another name": message(ONE, {"00": torch.zeros(1)}),
    "a tensor numbered by a bool": message({"tensor": [False, False]}, {"0": torch.zeros(1)}),
    "a tensor numbered by a float": message({"tensor": [0.0, False]}, {"0": torch.zeros(1)}),
    "the same as a tensor that comes later": message([{"same": 0}, ONE], {"0": torch.zeros(1)}),
    "the same as the tensor before the first": message([ONE, {"same": -1}], {"0": torch.zeros(1)}),
    "the same as a bool": message([ONE, {"same": False}], {"0": torch.zeros(1)}),
    "a tensor again and again": message([ONE, *[{"same": 0}] * (MAX_SAME + 1)], {"0": torch.zeros(1)}),
    "a tensor of three": message({"tensor": [0, False, 1]}, {"0": torch.zeros(1)}),
    "a flag that is no bool": message({"tensor": [0, 1]}, {"0": torch.zeros(1)}),
    "an int tensor with a gradient": message({"tensor": [0, True]}, {"0": torch.zeros(1, dtype=torch.int64)}),
    "a dtype that is not plain": message(ONE, {"0": torch.zeros(1, dtype=torch.complex64)}),
    "an 8-bit float": message(ONE, {"0": torch.zeros(1).to(torch.float8_e5m2)}),
    "too many tensors": message([{"tensor": [index, False]} for index in range(MAX_TENSORS + 1)],
                                {str(index): torch.zeros(1) for index in range(MAX_TENSORS + 1)}),
    "tensors cut short": message(ONE, {"0": torch.zeros(4)})[:-1],
    "bytes after the tensors": message(ONE, {"0": torch.zeros(4)}) + b"\0",
    "a header length of 2^64": message(ONE) + b"\xff" * 8 + b"{}",
    "a header of 1 GB": message(ONE) + (2**30).to_bytes(8, "little"),
    "a header that is no JSON": with_header(ONE, b"hello"),
    "an empty header": with_header(1, {}),
    "an offset past the end": with_header(ONE, {"0": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, b"\0" * 8),
    "offsets that run backwards": with_header(ONE, {"0": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}, b"\0" * 8),
    "a shape larger than its bytes": with_header(ONE, {"0": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, b"\0" * 8),
    "a dtype larger than its bytes": with_header(ONE, {"0": {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 8),
    "a shape whose size overflows": with_header(ONE, {"0": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 8]}}, b"\0" * 8),
    "a negative shape": with_header(ONE, {"0": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}, b"\0" * 8),
    "no bytes, but a shape of 2^62": with_header(ONE, {"0": {"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}}),
    "no bytes, but a shape of 2^33": with_header(ONE, {"0": {"dtype": "F32", "shape": [2**33, 0], "data_offsets": [0, 0]}}),
    "an unknown dtype": with_header(ONE, {"0": {"dtype": "PICKLE", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 8),
    "a hole between tensors": with_header(ONE, F32, b"\0" * 16),
    "one name twice": with_header(ONE, b'{"0": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, '
                                       b'"0": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}', b"\0" * 8),
    "a bool of 2": with_header(ONE, {"0": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\1\2"),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bytes_are_refused(data):
    with pytest.raises(PlainDataError):
        unpack(data)


def test_hand_written_messages_are_read_so_that_the_hostile_ones_fail_for_their_fault():
    assert unpack(message([1, 2.5, {"tuple": [{"dict": {"a": None}}]}, {"float": "-inf"}])) == [1, 2.5, ({"a": None},), -math.inf]
    assert same(unpack(with_header(ONE, F32, struct.pack("<2f", 1, 2))), torch.tensor([1.0, 2.0]))
    assert same(unpack(message({"tensor": [0, True]}, {"0": torch.ones(1)})), torch.ones(1, requires_grad=True))


def mutated(rng: random.Random, data: bytes, donor: bytes) -> bytes:
    """Half of the time a few bytes are changed; else one token of the JSON is, and the lengths are made right again."""
    data = bytearray(data)
    if rng.random() < 0.5:
        for _ in range(rng.choice([1, 1, 2, 4])):
            place = rng.randrange(len(data))
            data[place] = rng.choice([rng.randrange(256), data[place] ^ 1 << rng.randrange(8)])
        if rng.random() < 0.2:
            data[place:] = donor[rng.randrange(len(donor)):]
        return bytes(data)
    size = int.from_bytes(data[:8], "little")
    text, tensors = bytes(data[8:8 + size]), bytes(data[8 + size:])
    token = rng.choice(list(re.finditer(rb'"(?:[^"\\]|\\.)*"|[-\d.e+]+|true|false|null', text)))
    pool = [b"0", b"1", b"-1", b"2.5", b"true", b"null", b'"nan"', b'"dict"', b'"tuple"', b'"tensor"', b'"same"', b'{"same":0}',
            b"[]", b"{}", b"[[[[[0]]]]]",
            b"9" * 19, b'{"tensor":[0,true]}', b'{"tuple":[1]}', b'"\\ud800"', b"NaN", b"", token[0] + b",0", b"[" + token[0] + b"]"]
    text = text[:token.start()] + rng.choice(pool) + text[token.end():]
    return len(text).to_bytes(8, "little") + text + tensors


def test_4000_mutated_messages_give_a_plain_value_or_the_one_error():
    rng = random.Random(11)
    originals = [pack([random_value(rng, 1) for _ in range(4)]) for _ in range(60)] + [pack(random_tensor(rng)) for _ in range(20)]
    read = refused = 0
    for _ in range(4000):
        try:
            value = unpack(mutated(rng, rng.choice(originals), rng.choice(originals)))
        except PlainDataError:
            refused += 1
        else:
            read += 1
            assert same(unpack(pack(value)), value)  # what was read is plain itself
    assert refused > 1000 and read > 400


def test_parsed_structure_stays_small():
    """The costliest structure for its bytes is empty lists. An eighth of the largest is measured: tracing is slow."""
    text = b"[" + b",".join([b"[]"] * (MAX_STRUCTURE // 24)) + b"]"
    tracemalloc.start()
    unpack(message(text))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20 / 8


# What a TODO takes and returns must be plain data: every argument and result of every check of every lesson.

COURSE = read_course()
LESSONS = [lesson for lesson in (read_lesson(COURSE, entry.name) for entry in COURSE.lessons) if lesson.checks]
CHECKS = {lesson.entry.name: import_module(f"lessons.{lesson.entry.name}.checks") for lesson in LESSONS}


@pytest.mark.parametrize("name, function, check", [
    (lesson.entry.name, function, check) for lesson in LESSONS for function in lesson.functions
    for check in vars(CHECKS[lesson.entry.name]) if re.match(f"(check|hidden)_{function}_", check)])
def test_every_argument_and_result_of_a_check_may_cross(name, function, check):
    answers, crossed, changed = reference(Module(*COURSE.algorithm_files(COURSE.lesson(name)))), [], []
    solved = answers[function]

    def cross(value, place: str) -> None:
        try:  # kept, not raised: a check may expect a ValueError, and PlainDataError is one
            crossed.append(place)
            if not same(unpack(pack(value, place)), value):
                changed.append(f"{place}: {value}")
        except PlainDataError as error:
            changed.append(str(error))

    def call(*arguments, **named):
        for index, value in enumerate(arguments):
            cross(value, f"arguments[{index}]")
        for key, value in named.items():
            cross(value, key)
        result = solved(*arguments, **named)
        cross(result, "result")
        return result

    assert judge(getattr(CHECKS[name], check), function, {**answers, function: call}).status == "passed"
    assert not changed and "arguments[0]" in crossed and "result" in crossed
