"""A small editor of lines for `punctual interact`: shows each key, and writes the line to a file with Enter.

    sudo punctual interact --script examples/lines.toml -o after/1.punctual -- python3 examples/line-editor.py notes.txt fsync

With `fsync` as its second word it waits until each line is on the disk. It ends with Ctrl-D."""

import os
import sys
import termios
import tty

notes = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
waits = sys.argv[2:] == ["fsync"]
before = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"ready\r\n")
line = b""
try:
    while (key := os.read(0, 16)) and b"\x04" not in key:
        if key != b"\r":
            line += key
            os.write(1, key)
            continue
        os.write(notes, line + b"\n")
        line = b""
        if waits:
            os.fsync(notes)
        os.write(1, b"\r\n")
finally:
    termios.tcsetattr(0, termios.TCSADRAIN, before)
