"""The bytes by which HAProxy asks a replica over gRPC whether its model is ready.

HAProxy's HTTP checks can't send a gRPC message, since it holds NUL bytes, and Triton's HTTP port stays on loopback. So
the check is a TCP check that plays one HTTP/2 call. The module knows frames of HTTP/2 (RFC 9113) and uncompressed
headers of HPACK (RFC 7541)."""

from lamr_model.names import ENSEMBLE

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
STREAM = 1

# What an answer looks like in hexadecimal digits, in which HAProxy matches bytes. A gRPC message is a byte 0, its
# length in four bytes, and its body: `08 01` says that field 1 is true. An empty message says that it is false, and
# headers that end the stream without a message before them carry an error.
READY = "00000000020801"
NOT_READY = "000005000[01]000000010000000000"
REFUSED = "[0-9A-Fa-f]{6}010500000001"
DECIDED = f"{READY}|{NOT_READY}|{REFUSED}"
BAD = f"^(?!.*{READY}).*({NOT_READY}|{REFUSED})"


def request(path: str) -> str:
    name = ENSEMBLE.encode()
    message = b"\n" + bytes([len(name)]) + name  # field 1 of a protobuf message, a text
    headers = b"".join(
        (
            b"\x83",  # :method POST, from the static table
            b"\x86",  # :scheme http
            b"\x04" + _text(path),
            b"\x01" + _text("triton"),  # :authority
            b"\x0f\x10" + _text("application/grpc"),  # content-type
            b"\x00" + _text("te") + _text("trailers"),
        )
    )
    frames = (
        _frame(SETTINGS, 0, 0, b""),
        _frame(HEADERS, END_HEADERS, STREAM, headers),
        _frame(DATA, END_STREAM, STREAM, b"\0" + len(message).to_bytes(4, "big") + message),
    )
    return (PREFACE + b"".join(frames)).hex()


def _text(value: str) -> bytes:
    return bytes([len(value)]) + value.encode()


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
