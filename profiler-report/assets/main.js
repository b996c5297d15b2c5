"use strict";
// Puts the parts together once the page stands.
(() => {
  const { data, color, drawn, element, onPick, pick, unpack } = report;

  // The colour of each region, wherever its name is.
  function paintKeys() {
    for (const key of document.querySelectorAll(".key")) key.style.background = color(key.dataset.label);
    for (const track of document.querySelectorAll(".track")) track.style.setProperty("--color", color(track.dataset.label));
  }
  drawn(paintKeys);

  // A picked region is marked in the table.
  const table = document.getElementById("regions");
  const lines = [...table.tBodies[0].rows];
  for (const line of lines) line.querySelector(".pick").addEventListener("click", () => pick(Number(line.dataset.row)));
  onPick((row) => {
    for (const line of lines) {
      const isPicked = Number(line.dataset.row) === row;
      line.classList.toggle("picked", isPicked);
      line.querySelector(".pick").setAttribute("aria-pressed", String(isPicked));
    }
  });

  // Columns sort by their exact values; the order of the report is that of time, kernel by kernel.
  for (const table of document.querySelectorAll("#regions, #launches")) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.classList.contains("n")) return;
      const title = head.textContent;
      const sort = () => {
        const isDescending = head.getAttribute("aria-sort") !== "descending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
        const value = (row) => Number(row.cells[column].dataset.value);
        const sorted = [...body.rows].sort((one, two) => (isDescending ? value(two) - value(one) : value(one) - value(two)));
        body.append(...sorted);
      };
      head.replaceChildren(element("button", { type: "button", onclick: sort }, title));
    });
  }

  // The region with the most time of its own kernel is picked from the start.
  const first = data.labels.findIndex(({ kind, rank }) => kind === "region" && rank === 0);
  if (data.rows.length > 0) pick(first >= 0 && first < data.rows.length ? first : 0);

  async function start() {
    const [overview, detail] = await Promise.all([unpack("overview"), unpack("detail")]);
    report.startTimeline(overview, report.unpackDetail(detail));
    report.startMaps(await unpack("cells"));
    paintKeys();
    performance.mark("ready");
    document.documentElement.dataset.ready = performance.now().toFixed(1);
  }
  start().catch((error) => {
    const text = `The timeline and the maps cannot be drawn: ${error.message}. They need a browser of 2024 or later; the tables do not.`;
    document.getElementById("losses").after(element("p", { class: "banner error" }, text));
    console.error(error);
  });
})();
