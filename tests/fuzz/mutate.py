"""Damaged files: a valid model, changed in its messages or in its bytes. Every one must be compiled or refused, and `check` must say the same."""
import random as standard
import tempfile
import time
import warnings
from pathlib import Path

import onnx
from google.protobuf.descriptor import FieldDescriptor

import fathom
import generate
from case import Outcome

INTEGERS = [0, 1, -1, 2, 3, 7, 13, 64, -2, -(2**31), 2**31 - 1, 2**31, 2**62, -(2**63), 2**63 - 1]
FLOATS = [0.0, -1.0, 1e30, -1e30, float("nan"), float("inf"), 0.5]


def is_repeated(field):
    repeated = getattr(field, "is_repeated", None)
    return repeated if isinstance(repeated, bool) else field.label == FieldDescriptor.LABEL_REPEATED


def messages(message, depth=0):
    """This message and all within it."""
    yield message
    if depth > 12:
        return
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for item in value if is_repeated(field) else [value]:
                yield from messages(item, depth + 1)


def words(model):
    """Every text that stands in the model: names that mean something when they come elsewhere."""
    found = {""}
    for message in messages(model):
        for field, value in message.ListFields():
            if field.type == FieldDescriptor.TYPE_STRING:
                found.update(value if is_repeated(field) else [value])
            if field.type == FieldDescriptor.TYPE_BYTES and field.name in ("s", "strings"):
                found.update(v.decode(errors="replace") for v in (value if is_repeated(field) else [value]))
    return sorted(found) + ["SAME_UPPER", "Add", "Loop", "nobody", "a" * 300]


def scalar(random, field, texts):
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_STRING:
        return random.choice(texts) if field.type == FieldDescriptor.TYPE_STRING else random.randbytes(random.choice([0, 1, 4, 7, 8, 64]))
    if kind in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return random.choice(FLOATS)
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return random.choice([value.number for value in field.enum_type.values])
    value = random.choice(INTEGERS)
    if kind in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32):
        value = random.choice([0, 1, -1, 2, 5, 11, 16, 99, 2**31 - 1])
    return abs(value) if kind in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64) else value


def damage(random, model, texts):
    """Changes one field of one message."""
    target = random.choice(list(messages(model)))
    fields = target.DESCRIPTOR.fields
    present = [field for field, _ in target.ListFields()]
    field = random.choice(present if present and random.random() < 0.8 else fields)
    if not is_repeated(field):
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            donors = [m for m in messages(model) if m.DESCRIPTOR is field.message_type]
            if random.random() < 0.3 or not donors:
                target.ClearField(field.name)
            else:
                getattr(target, field.name).CopyFrom(clone(random.choice(donors)))
        elif field.type == FieldDescriptor.TYPE_BYTES and target.HasField(field.name) and random.random() < 0.7:
            setattr(target, field.name, damaged_bytes(random, getattr(target, field.name)))
        else:
            setattr(target, field.name, scalar(random, field, texts))
        return
    items, way = getattr(target, field.name), random.randrange(5)
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        donors = [m for m in messages(model) if m.DESCRIPTOR is field.message_type]
        if way == 0 and items:
            del items[random.randrange(len(items))]
        elif way == 1 and items:
            items.add().CopyFrom(clone(random.choice(items)))
        elif way == 2 and donors:
            items.add().CopyFrom(clone(random.choice(donors)))
        elif way == 3 and len(items) > 1:
            kept = [clone(item) for item in items]
            random.shuffle(kept)
            del items[:]
            items.extend(kept)
        elif items and donors:
            items[random.randrange(len(items))].CopyFrom(clone(random.choice(donors)))
        return
    if way == 0 and items:
        del items[random.randrange(len(items))]
    elif way == 1 or not items:
        items.append(scalar(random, field, texts))
    elif way == 2 and len(items) > 1:
        i, j = random.randrange(len(items)), random.randrange(len(items))
        items[i], items[j] = items[j], items[i]
    else:
        items[random.randrange(len(items))] = scalar(random, field, texts)


def clone(message):
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def damaged_bytes(random, data):
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 4])):
        way, place = random.randrange(5), random.randrange(len(data) + 1)
        if way == 0:
            data[place:place + 1] = random.randbytes(1)
        elif way == 1:
            del data[place:place + random.choice([1, 2, 8, 64])]
        elif way == 2:
            data[place:place] = random.randbytes(random.choice([1, 2, 8]))
        elif way == 3 and data:
            place = min(place, len(data) - 1)
            data[place] ^= 1 << random.randrange(8)
        else:
            source = random.randrange(len(data) + 1)
            data[place:place] = data[source:source + 16]
    return bytes(data)


def file(seed, number):
    """The damaged file of this number in the stream of a seed."""
    made = generate.graph(seed, number)
    random = standard.Random(f"{seed} {number}")
    model = made.model if made else onnx.ModelProto()
    texts = words(model)
    for _ in range(random.choice([1, 1, 1, 2, 3, 6])):
        try:
            damage(random, model, texts)
        except (ValueError, TypeError):
            pass  # a number that the field cannot hold
    data = model.SerializeToString()
    return damaged_bytes(random, data) if random.random() < 0.2 else data


def is_file(folder):
    return not (Path(folder) / "options.txt").exists()


def load(folder):
    return (Path(folder) / "model.onnx").read_bytes()


def run(data, progress=lambda phase: None):
    """What becomes of a file in this process, which a crash ends."""
    said = []
    for phase, act in (("check", lambda: fathom.check(data)), ("compile", lambda: fathom.compile(data, jobs=1))):
        progress(phase)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = act()
            said.append([entry["code"] for entry in result] if phase == "check" else [])
            if any(code.startswith("F7") for code in said[-1]):
                return Outcome("internal", f"check: {result}")
        except fathom.Error as error:
            if error.code.startswith("F7"):
                return Outcome("internal", f"{phase}: {error}")
            said.append([error.code])
        except Exception as error:
            return Outcome("error", f"{phase}: {error!r}")
    if bool(said[0]) != bool(said[1]):
        return Outcome("disagreement", f"check says {said[0]}, compile {said[1]}")
    return Outcome("ok" if not said[1] else "refusal", str(said[1]))




def smaller(data, outcome, worker, seconds):
    """A file that fails in the same way, with as few fields as could be found."""
    end = time.monotonic() + seconds
    try:
        model = onnx.load_from_string(data)
    except Exception:
        return data

    def fails(candidate):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "model.onnx").write_bytes(candidate.SerializeToString())
            result = worker.ask({"kind": "saved", "folder": folder})[0]
        return result.is_failure and result.same_as(outcome)

    if not fails(model):
        return data  # the bytes matter, not what they say
    place = 0
    while time.monotonic() < end:
        candidate = clone(model)
        if not drop(candidate, place):
            break
        if fails(candidate):
            model = candidate
        else:
            place += 1
    return model.SerializeToString()


def drop(model, place):
    """Removes the field or element of this number; false where there are fewer."""
    for message in messages(model):
        for field, value in message.ListFields():
            count = len(value) if is_repeated(field) else 1
            if place < count:
                if is_repeated(field):
                    del value[place]
                else:
                    message.ClearField(field.name)
                return True
            place -= count
    return False
