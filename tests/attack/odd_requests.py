"""Requests to Triton as no library writes them: bytes of protobuf and of gRPC, by name, and what writes them."""

from tritonclient.grpc import service_pb2

OTHER = b"lamr_encoder"


def text(number: int, value: bytes) -> bytes:
    """A field of text or of a message, as protobuf writes it."""
    assert number < 16
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def frame(message: bytes, flag: int = 0, size: int | None = None) -> bytes:
    return bytes([flag]) + (len(message) if size is None else size).to_bytes(4, "big") + message


def chunk(tokens: int) -> bytes:
    """A right inference of so many tokens, and far more than a window has where there are many."""
    request = service_pb2.ModelInferRequest(model_name="lamr")
    for name, kind, shape, raw in (
        ("input_ids", "INT64", tokens, (b"\1" + bytes(7)) * tokens),
        ("document_span", "INT32", 2, (8).to_bytes(4, "little") + tokens.to_bytes(4, "little")),
    ):
        request.inputs.add(name=name, datatype=kind, shape=[1, shape])
        request.raw_input_contents.append(raw)
    return frame(request.SerializeToString())


NAME = text(1, b"lamr")
INPUT = text(1, b"input_ids") + text(2, b"INT64")
REGION = text(4, text(1, b"shared_memory_region") + text(2, text(3, b"x")))

# What no name is found in, though Triton finds one: refused as INVALID_ARGUMENT. Field 15 is unknown to all.
TWO_READINGS = {
    "two names": NAME + text(1, OTHER),
    "two names, the right one last": text(1, OTHER) + NAME,
    "the same name twice": NAME + NAME,
    "an empty name, then another": text(1, b"") + text(1, OTHER),
    "no name": b"",
    "an empty name": text(1, b""),
    "a version alone": text(2, b"1"),
    "a tag of two bytes": b"\x8a\x00" + NAME[1:],
    "a tag of five bytes": b"\x8a\x80\x80\x80\x00" + NAME[1:],
    "a length of two bytes": b"\x0a\x84\x00lamr",
    "a length of ten bytes": b"\x0a\x84\x80\x80\x80\x80\x80\x80\x80\x80\x00lamr",
    "a length beyond the end": b"\x0a\x7flamr",
    "a length of 4 GB": b"\x0a\xff\xff\xff\xff\x0flamr",
    "a length that wraps": b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01lamr",
    "a tag cut off": NAME + b"\x12",
    "a name as a number": b"\x08\x01" + NAME,
    "a name as 32 bits": b"\x0d\0\0\0\0" + NAME,
    "a name as 64 bits": b"\x09" + bytes(8) + NAME,
    "a group before": b"\x1b\x1c" + NAME,
    "a group with the name": b"\x1b" + NAME + b"\x1c",
    "the end of a group": b"\x0c" + NAME,
    "field 0": b"\x02\x00" + NAME,
    "wire type 6": b"\x0e" + NAME,
    "wire type 7": b"\x0f" + NAME,
    "an unknown field before": text(15, b"x") + NAME,
    "an unknown field behind": NAME + text(15, b"x"),
    "field 16": b"\x82\x01\x00" + NAME,
    "field 2^29-1": b"\xfa\xff\xff\xff\x0f\x00" + NAME,
    "32 bits before": b"\x25\0\0\0\0" + NAME,
    "two versions": NAME + text(2, b"1") + text(2, b"2"),
    "a NUL behind the name": text(1, b"lamr\0"),
    "a NUL and more": text(1, b"lamr\0_encoder"),
    "a line end": text(1, b"lamr\n"),
    "a space": text(1, b"lamr "),
    "UTF-16": text(1, "lamr".encode("utf-16")),
    "no UTF-8": text(1, b"lamr\xff"),
    "a path": text(1, b"../lamr"),
    "a dash": text(1, b"-"),
    "an exclamation mark": text(1, b"!lamr"),
    "a long name": b"\x0a\xe8\x07" + b"a" * 1000,
}
# Names that are read, and may not be used: PERMISSION_DENIED.
OTHERS = {
    "another model": text(1, OTHER),
    "upper case": text(1, b"LAMR"),
    "a part of the name": text(1, b"lam"),
    "more than the name": text(1, b"lamr.1"),
    "another model behind its version": text(2, b"1") + text(1, OTHER),
}
# Messages of an inference that hold what no client may send, or what no reader should have to count.
INFERENCES = {
    "shared memory of an input": text(5, INPUT + REGION),
    "shared memory of an output": text(6, text(1, b"keep") + text(2, REGION[2:])),
    "an unknown field of an input": text(5, INPUT + text(6, b"x")),
    "a group in an input": text(5, INPUT + b"\x33\x34"),
    "an input's name twice": text(5, INPUT + text(1, b"x")),
    "a sequence": text(4, text(1, b"sequence_id") + text(2, b"\x10\x01")),
    "a priority": text(4, text(1, b"priority") + text(2, b"\x10\x01")),
    "a parameter of Triton's own": text(4, text(1, b"triton_enable_empty_final_response") + text(2, b"\x08\x01")),
    "a parameter whose name stands twice": text(4, text(1, b"timeout") + text(1, b"priority")),
    "a parameter without a name": text(4, text(2, b"\x08\x01")),
    "a negative shape": text(5, INPUT + b"\x18" + b"\xff" * 9 + b"\x01"),
    "a shape of 2^61": text(5, INPUT + text(3, b"\x01" + b"\x80" * 8 + b"\x20")),
    "a shape whose product overflows": text(5, INPUT + text(3, b"\xff\xff\xff\x7f" * 5)),
    "a shape with a zero that hides it": text(5, INPUT + text(3, b"\xff\xff\xff\x7f" * 3 + b"\x00")),
    "a shape number by number": text(5, INPUT + b"\x18\xff\xff\x7f"),
    "a shape cut off": text(5, INPUT + text(3, b"\x80")),
    "more fields than 1,000": text(7, b"") * 1001,
    "more dimensions than 1,000": text(5, text(3, b"\x01" * 100)) * 11,
}  # fmt: skip
FRAMES = {
    "no message": b"",
    "four bytes": b"\0\0\0\0",
    "a message and a byte": frame(NAME) + b"\0",
    "two messages": frame(NAME) * 2,
    "an empty message first": frame(b"") + frame(NAME),
    "a length too small": frame(NAME, size=2),
    "a length too large": frame(NAME, size=7),
    "a length of 4 GB": frame(NAME, size=(1 << 32) - 1),
    **{f"flag {flag}": frame(NAME, flag) for flag in (2, 3, 128, 255)},
}
