"""Programs on a terminal of their own, and what they draw there."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

ERASE = "\r\x1b[K"


def on_terminal(command, columns, interrupt_at=(), seconds=60, **options):
    """Exit code and output of a command on a terminal that is so wide. Types Ctrl-C as soon as the output matches the first of
    interrupt_at, then the second, ... Two within 50 ms count once. The terminal must be as it was when nothing writes to it any more."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    before = termios.tcgetattr(follower)
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **options)
    os.close(follower)
    text, waits = b"", list(interrupt_at)
    while select.select([leader], [], [], seconds)[0]:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:
            break  # Nothing has it open any more.
        if not piece:
            break
        text += piece
        if waits and re.search(waits[0], text.decode(errors="replace")):
            if len(waits) < len(interrupt_at):
                time.sleep(0.1)
            os.write(leader, b"\x03")
            del waits[0]
    assert termios.tcgetattr(leader) == before
    os.close(leader)
    assert not waits, text
    code = process.wait(timeout=seconds)
    return code, text.decode().replace("\r\n", "\n")


def drawn(text):
    """The lines that are erased again, without what the terminal itself shows of a typed Ctrl-C."""
    return re.findall(re.escape(ERASE) + r"([^\r\n]+?)(?:\^C)?(?=\r)", text)


def kept(text):
    """What remains on the screen. It must end in an empty line, where a shell's prompt stands well."""
    remains = re.sub(r"[^\r\n]*" + re.escape(ERASE), "", text)
    assert remains == "" or remains.endswith("\n"), text
    assert not re.search("[\r\x1b]", remains), text
    return remains
