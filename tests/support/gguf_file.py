"""Writes GGUF files."""
import struct


def text(string):
    return struct.pack("<Q", len(string)) + string.encode()


def write(path, tensors):
    """tensors: (name, shape with rows first, number of the format, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 1) + text("general.name") + struct.pack("<I", 8) + text("test")
    data = b""
    for name, shape, number, content in tensors:
        data += b"\0" * (-len(data) % 32)
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", number, len(data))
        data += content
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
