"use strict";
// Where the time went: regions over SMs, and warps over blocks.
report.startMaps = (bytes) => {
  const { data, duration, digits, count, element, sequential, css, drawn, showTip, sized, onPick, picked } = report;
  const host = document.getElementById("maps");
  if (data.maps.length === 0) return;

  // Each map: counts, then totals, of 4 bytes a cell.
  let at = 0;
  function take(cells) {
    const counts = new Uint32Array(bytes.buffer.slice(at, at + cells * 4));
    const totals = new Float32Array(bytes.buffer.slice(at + cells * 4, at + cells * 8));
    at += cells * 8;
    return { counts, totals };
  }
  const maps = data.maps.map((map) => ({
    ...map,
    bySm: take(data.sms.length),
    byWarp: take(map.groups * map.warps),
  }));

  const METRICS = {
    mean: { name: "mean duration", of: (cells, at) => cells.totals[at] / cells.counts[at], text: duration },
    total: { name: "total time", of: (cells, at) => cells.totals[at], text: duration },
    count: { name: "count", of: (cells, at) => cells.counts[at], text: count },
  };
  const choice = element("select", { id: "metric", onchange: () => draw() });
  for (const [key, { name }] of Object.entries(METRICS)) choice.append(element("option", { value: key }, name));
  const regionChoice = element("select", { id: "map-region", onchange: () => draw() });
  maps.forEach((map, index) => regionChoice.append(element("option", { value: index }, data.labels[map.row].name)));

  const smCanvas = element("canvas", { class: "map", id: "map-sm", tabindex: 0, role: "img" });
  const warpCanvas = element("canvas", { class: "map", id: "map-warp", tabindex: 0, role: "img" });
  const smNote = element("p", { class: "note" });
  const warpNote = element("p", { class: "note" });
  host.append(
    element("div", { class: "controls" }, element("label", { for: "metric" }, "Show"), choice),
    element("h3", {}, "Regions over SMs"), smCanvas, smNote,
    element("div", { class: "controls" }, element("h3", {}, "Warps over blocks, for"), regionChoice),
    warpCanvas, warpNote,
  );

  /** The range of the cells in which anything was recorded. */
  function range(cells, metric) {
    let [low, high] = [Infinity, -Infinity];
    for (let at = 0; at < cells.counts.length; at += 1) {
      if (cells.counts[at] === 0) continue;
      const value = metric.of(cells, at);
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    return { low, high };
  }
  // Differences of less than a percent are no pattern: all such cells have one colour.
  const share = ({ low, high }, value) => (high - low <= 0.01 * high ? 0.5 : (value - low) / (high - low));

  /** Draws rows of cells with a name before and a remark behind each; gives where the cells are. */
  function paint(canvas, rows, columns, { name, remark, cell, columnName, rowHigh, title }) {
    const wide = Math.max(320, host.clientWidth);
    const [left, right, bottom] = [Math.min(170, wide * 0.25), 170, 22];
    const context = sized(canvas, wide, rows * rowHigh + bottom);
    context.clearRect(0, 0, wide, rows * rowHigh + bottom);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const step = (wide - left - right) / columns;
    for (let row = 0; row < rows; row += 1) {
      const y = row * rowHigh;
      context.fillStyle = css("--ink");
      context.textAlign = "right";
      if (rowHigh >= 12 || row % Math.ceil(12 / rowHigh) === 0) context.fillText(name(row), left - 8, y + rowHigh / 2, left - 10);
      context.textAlign = "left";
      context.fillStyle = css("--muted");
      context.fillText(remark(row), wide - right + 8, y + rowHigh / 2, right - 10);
      for (let column = 0; column < columns; column += 1) {
        const part = cell(row, column);
        if (part === null) {
          context.fillStyle = css("--sunken");
        } else {
          context.fillStyle = sequential(part);
        }
        const gap = step > 5 ? 1 : 0;
        context.fillRect(left + column * step, y, Math.max(step - gap, 0.6), rowHigh - 1);
      }
    }
    context.fillStyle = css("--muted");
    const every = Math.max(1, Math.ceil(60 / step));
    for (let column = 0; column < columns; column += every) {
      context.fillText(columnName(column), left + column * step + 1, rows * rowHigh + 12);
    }
    context.textAlign = "right";
    context.fillText(title, left - 8, rows * rowHigh + 12);
    canvas.cells = { left, step, rowHigh, rows, columns };
  }

  /** Tells of the cell under the pointer, and of one that the arrow keys choose. */
  function explained(canvas, tell) {
    const cursor = { row: 0, column: 0 };
    canvas.addEventListener("pointermove", (event) => {
      const { left, step, rowHigh, rows, columns } = canvas.cells;
      const box = canvas.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top) / rowHigh);
      const column = Math.floor((event.clientX - box.left - left) / step);
      const isIn = row >= 0 && row < rows && column >= 0 && column < columns;
      showTip(isIn ? tell(row, column) : "", event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerleave", () => showTip(""));
    canvas.addEventListener("blur", () => showTip(""));
    canvas.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!move) return;
      event.preventDefault();
      const { left, step, rowHigh, rows, columns } = canvas.cells;
      cursor.row = Math.min(rows - 1, Math.max(0, cursor.row + move[0]));
      cursor.column = Math.min(columns - 1, Math.max(0, cursor.column + move[1]));
      const box = canvas.getBoundingClientRect();
      showTip(tell(cursor.row, cursor.column), box.left + left + cursor.column * step, box.top + cursor.row * rowHigh);
    });
  }

  const told = (cells, at, what) =>
    cells.counts[at] === 0
      ? `${what}\nnothing recorded`
      : `${what}\nmean ${duration(METRICS.mean.of(cells, at))}, total ${duration(cells.totals[at])}, count ${count(cells.counts[at])}`;
  const span = ({ low, high }, metric) =>
    low > high ? "" : `${metric.text(low)} … ${metric.text(high)}`;
  function groupName(map, group) {
    const from = Math.ceil((group * map.blocks) / map.groups);
    const to = Math.ceil(((group + 1) * map.blocks) / map.groups) - 1;
    return from === to ? `${from}` : `${from}–${to}`;
  }

  explained(smCanvas, (row, column) =>
    told(maps[row].bySm, column, `${data.labels[maps[row].row].name}, SM ${data.sms[column]}`));
  explained(warpCanvas, (row, column) => {
    const map = maps[regionChoice.value];
    const group = groupName(map, column);
    const blocks = group.includes("–") ? `blocks ${group}` : `block ${group}`;
    return told(map.byWarp, column * map.warps + row, `${data.labels[map.row].name}, ${blocks}, warp ${row}`);
  });

  function draw() {
    const metric = METRICS[choice.value];
    const ranges = maps.map((map) => range(map.bySm, metric));
    paint(smCanvas, maps.length, data.sms.length, {
      rowHigh: 18,
      title: "SM",
      name: (row) => data.labels[maps[row].row].name,
      remark: (row) => span(ranges[row], metric),
      columnName: (column) => `${data.sms[column]}`,
      cell: (row, column) => {
        const cells = maps[row].bySm;
        return cells.counts[column] === 0 ? null : share(ranges[row], metric.of(cells, column));
      },
    });
    smCanvas.setAttribute("aria-label", `Map of ${metric.name} for ${maps.length} kernels and regions over ${data.sms.length} SMs`);
    smNote.textContent = "Each row has its own scale, from its least cell (dark blue) to its greatest (yellow), which stand "
      + "behind it; where they differ by less than 1 %, all cells look alike.";
    const map = maps[regionChoice.value];
    const whole = range(map.byWarp, metric);
    paint(warpCanvas, map.warps, map.groups, {
      rowHigh: map.warps > 16 ? 9 : 16,
      title: "block",
      name: (row) => `warp ${row}`,
      remark: (row) => (row === 0 ? span(whole, metric) : ""),
      columnName: (column) => groupName(map, column),
      cell: (row, column) => {
        const at = column * map.warps + row;
        return map.byWarp.counts[at] === 0 ? null : share(whole, metric.of(map.byWarp, at));
      },
    });
    warpCanvas.setAttribute("aria-label", `Map of ${metric.name} of ${data.labels[map.row].name} over warps and blocks`);
    warpNote.textContent = map.groups < map.blocks
      ? `The ${count(map.blocks)} blocks are gathered into ${map.groups} groups of ${digits(map.blocks / map.groups)} neighbours; launches are added up.`
      : "One column for each block; launches are added up.";
  }
  function follow() {
    const index = maps.findIndex((map) => map.row === picked.row);
    if (index >= 0) regionChoice.value = index;
  }
  follow();
  drawn(draw);
  onPick(() => {
    follow();
    draw();
  });
};
