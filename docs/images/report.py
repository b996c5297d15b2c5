"""Photographs a page of `profiler report` in Chromium without a window.

    profiler report pipeline.capture -o pipeline.html
    python3 docs/images/report.py docs/images/report-pipeline.png pipeline.html 1280x1960 light \\
        "pick('wait empty'); report.showSpan(18000, 60000); await settle(); await key('Enter')"
    profiler report gemm.capture -o gemm.html
    python3 docs/images/report.py docs/images/report-gemm.png gemm.html 1280x1300 dark "from('Where the time went')"

The last argument is what is done before, in JavaScript: `pick` chooses a region, `key` presses a key on the timeline,
`from` leaves out what stands above a heading. PROFILER_CHROMIUM names the browser if it is not `chromium`.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

TOOLS = """
// No frame is painted while time runs without waiting.
window.requestAnimationFrame = (call) => setTimeout(call, 0);
const viewport = document.querySelector(".viewport");
const settle = () => new Promise((done) => setTimeout(done, 5));
const key = async (name) => {
  viewport.dispatchEvent(new KeyboardEvent("keydown", { key: name, cancelable: true, bubbles: true }));
  await settle();
};
const pick = (name) => [...document.querySelectorAll("#regions tbody tr")]
  .find((row) => row.querySelector("th").textContent === name).querySelector(".pick").click();
const from = (heading) => {
  const section = [...document.querySelectorAll("h2")].find((found) => found.textContent === heading).closest("section");
  while (section.previousElementSibling) section.previousElementSibling.remove();
};
"""

picture, page, size, scheme, actions = sys.argv[1:]
text = pathlib.Path(page).read_text(encoding="utf-8")
script = f"<script>setTimeout(async () => {{ {TOOLS} {actions} }}, 50);</script>"
with tempfile.TemporaryDirectory() as folder:
    altered = pathlib.Path(folder, "page.html")
    altered.write_text(text.replace("</body>", script + "</body>"), encoding="utf-8")
    subprocess.run(
        [
            os.environ.get("PROFILER_CHROMIUM", "chromium"),
            "--headless",
            "--disable-gpu",
            "--no-sandbox",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
            f"--window-size={size.replace('x', ',')}",
            f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
            "--virtual-time-budget=5000",
            f"--screenshot={picture}",
            altered.as_uri(),
        ],
        check=True,
    )
