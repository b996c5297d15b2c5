"""Draws what commands print on a terminal, as an SVG.

    pip install rich
    python docs/images/terminal.py docs/images/terminal.svg 'profiler timeline persistent.capture' ..

Each command runs in a shell of the current folder, as on a terminal of 142 columns, whose rows long lines fill to the last.
"""

import io
import os
import re
import subprocess
import sys

from rich.console import Console
from rich.text import Text

COLUMNS = 142

console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, legacy_windows=False)
variables = dict(os.environ, CLICOLOR_FORCE="1", COLUMNS=str(COLUMNS))
for command in sys.argv[2:]:
    printed = subprocess.run(command, shell=True, env=variables, stdout=subprocess.PIPE, check=True)
    console.print(Text(f"$ {command}", style="bold"))
    for line in Text.from_ansi(printed.stdout.decode()).split():
        # A terminal goes on in its next row, wherever in a word that is.
        for row in line.divide(range(COLUMNS, len(line), COLUMNS)):
            console.print(row, soft_wrap=True)
drawing = console.export_svg(title="profiler")
# Fonts come from who looks at it, not from the network.
drawing = re.sub(r"@font-face \{.*?\}", "", drawing, flags=re.S)
drawing = re.sub(r"[ \t]+\n", "\n", drawing)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(drawing)
