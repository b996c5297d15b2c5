"""Draws what commands print on a terminal, as an SVG.

    pip install rich
    python docs/images/terminal.py docs/images/terminal.svg 'profiler timeline persistent.capture' ..

Each command runs in a shell of the current folder, on a terminal of 142 columns; what it says beside its output is not shown.
"""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios

from rich.console import Console
from rich.text import Text

COLUMNS = 142



def shown(command):
    """What a command writes to a terminal."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    with subprocess.Popen(command, shell=True, stdout=its, stderr=subprocess.DEVNULL) as running:
        os.close(its)
        written = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # The other side is closed.
                break
            written += part
    if running.returncode != 0:
        sys.exit(f"{command} ended with {running.returncode}")
    return written.decode().replace("\r\n", "\n")


console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, legacy_windows=False)
for command in sys.argv[2:]:
    console.print(Text(f"$ {command}", style="bold"))
    for line in Text.from_ansi(shown(command)).split():
        console.print(line, soft_wrap=True)
drawing = console.export_svg(title="profiler")
# Fonts come from who looks at it, not from the network.
drawing = re.sub(r"@font-face \{.*?\}", "", drawing, flags=re.S)
drawing = re.sub(r"[ \t]+\n", "\n", drawing)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(drawing)
