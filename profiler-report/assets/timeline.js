"use strict";
// The timeline: what the host did, a row for each SM from afar, and under it the warps that ran there.
report.startTimeline = (overviewBytes, detail) => {
  const { data, duration, moments, count, niceStep, element, css, color, inkOn, drawn, showTip, sized } = report;
  const { launches, warps, strips, items, OPEN, MARK, NEVER_LEFT, CUT } = detail;
  const { axis } = data;
  const { limits, home } = data.host;
  const hostRows = report.hostRows;
  const [BAR, GAP, SM_HIGH, AXIS_HIGH] = [13, 4, 20, 26];
  const host = document.getElementById("timeline");
  if (!(limits.end > limits.start)) {
    host.append(element("p", { class: "note" }, "Nothing was recorded that has a length."));
    return;
  }

  // Both levels: codes, then shades, SM after SM.
  const fineBins = data.overview.bins;
  const coarseBins = fineBins / data.overview.perCoarse;
  const cut = (from, bins) => overviewBytes.subarray(from, from + bins * data.sms.length);
  const coarse = { bins: coarseBins, codes: cut(0, coarseBins), shades: cut(coarseBins * data.sms.length, coarseBins) };
  const fineFrom = 2 * coarseBins * data.sms.length;
  const fine = { bins: fineBins, codes: cut(fineFrom, fineBins), shades: cut(fineFrom + fineBins * data.sms.length, fineBins) };
  const labelOfCode = [];
  data.overview.codes.forEach((code, label) => { labelOfCode[code] ??= label; });

  const view = { from: home.start, to: home.end };
  const opened = new Set();
  let rows = [];
  let focused = -1;
  let selected = -1;
  let highlighted = -1;
  let hovered = "";

  // The warps of each SM, and those laid onto the fewest rows on which none overlap.
  const warpsOfSm = data.sms.map(() => []);
  for (let warp = 0; warp < warps.count; warp += 1) warpsOfSm[warps.sm[warp]]?.push(warp);
  const end = (warp) => warps.entry[warp] + warps.length[warp];
  const slotsOfSm = new Map();
  function slots(sm) {
    if (!slotsOfSm.has(sm)) {
      const list = [];
      for (const warp of [...warpsOfSm[sm]].sort((left, right) => warps.entry[left] - warps.entry[right])) {
        let slot = list.find((slot) => end(slot[slot.length - 1]) <= warps.entry[warp]);
        if (!slot) list.push((slot = []));
        slot.push(warp);
      }
      const of = ([warp]) => [launches[warps.launch[warp]].index, warps.block[warp], warps.warp[warp]];
      list.sort((left, right) => {
        const [one, two] = [of(left), of(right)];
        return one[0] - two[0] || one[1] - two[1] || one[2] - two[2];
      });
      slotsOfSm.set(sm, list);
    }
    return slotsOfSm.get(sm);
  }
  /** How many bars high a warp is: the kernel, and each lane's layers. */
  function bars(warp) {
    let high = 1;
    for (let strip = warps.strip[warp]; strip < warps.strip[warp + 1]; strip += 1) high += strips.layers[strip];
    return high;
  }
  const slotHigh = (slot) => slot.reduce((most, warp) => Math.max(most, bars(warp)), 1) * BAR + GAP;

  function blockName(warp) {
    const [wide, high, deep] = launches[warps.launch[warp]].grid.map((blocks) => Math.max(1, blocks));
    const block = warps.block[warp];
    const [x, y, z] = [block % wide, Math.floor(block / wide) % high, Math.floor(block / wide / high)];
    return deep > 1 ? `${x},${y},${z}` : high > 1 ? `${x},${y}` : `${x}`;
  }

  const grouping = element("select", { id: "grouping", onchange: () => arrange() },
    element("option", { value: "sm" }, "SM"), element("option", { value: "block" }, "block"));
  const canvas = element("canvas", { id: "timeline-canvas", "aria-hidden": "true" });
  const spacer = element("div", { class: "height" }, canvas);
  const viewport = element("div", {
    class: "viewport", tabindex: 0, role: "application",
    "aria-label": "Timeline. Arrow keys move, plus and minus zoom, 0 shows all, k the kernels, Enter opens an SM, n and p step through regions.",
  }, spacer);
  const selection = element("p", { class: "selection", "aria-live": "polite" }, "Point at a region to see what it is; click or press n to hold it.");
  const button = (text, name, onclick) => element("button", { type: "button", "aria-label": name, onclick }, text);
  const legend = element("div", { class: "legend", role: "group", "aria-label": "Regions; press one to see it alone" });
  host.append(
    element("div", { class: "controls" },
      button("+", "Zoom in", () => zoom(0.5)), button("\u2212", "Zoom out", () => zoom(2)),
      button("Show all", "Show all", () => show(limits.start, limits.end)),
      ...(hostRows.threads.length > 0 ? [button("Show kernels", "Show the time of the kernels", () => show(axis.start, axis.end))] : []),
      button("Open all SMs", "Open all SMs", () => openAll(true)), button("Close all", "Close all SMs", () => openAll(false)),
      element("label", { for: "grouping" }, "Rows by"), grouping),
    legend, viewport, selection,
  );

  const isSm = (row) => !row.host && !row.warps;
  /** Lays out the rows. */
  function arrange() {
    rows = [];
    let y = 0;
    const add = (row) => {
      rows.push({ ...row, y });
      y += row.high;
    };
    for (const thread of hostRows.threads) {
      add({ host: thread, high: thread.layers * BAR + GAP, name: `host ${thread.name}` });
    }
    if (grouping.value === "sm") {
      data.sms.forEach((sm, at) => {
        add({ sm: at, high: SM_HIGH, name: `SM ${sm}` });
        if (!opened.has(at)) return;
        slots(at).forEach((slot) => add({ sm: at, warps: slot, high: slotHigh(slot) }));
      });
    } else {
      const order = Array.from({ length: warps.count }, (_, warp) => warp);
      const key = (warp) => launches[warps.launch[warp]].index;
      order.sort((left, right) => key(left) - key(right) || warps.block[left] - warps.block[right] || warps.warp[left] - warps.warp[right]);
      for (const warp of order) {
        const launch = launches.length > 1 ? `#${key(warp)} ` : "";
        add({ sm: warps.sm[warp], warps: [warp], high: slotHigh([warp]), name: `${launch}block ${blockName(warp)}, warp ${warps.warp[warp]}` });
      }
    }
    focused = Math.min(focused, rows.length - 1);
    spacer.style.height = `${y + AXIS_HIGH + 8}px`;
    draw();
  }
  function toggle(sm) {
    if (!opened.delete(sm)) opened.add(sm);
    arrange();
  }
  function openAll(open) {
    opened.clear();
    if (open) data.sms.forEach((_, sm) => warpsOfSm[sm].length > 0 && opened.add(sm));
    arrange();
  }

  /** The first index at which a test that stays true once it is true is true. */
  function first(from, to, test) {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (test(middle)) to = middle;
      else from = middle + 1;
    }
    return from;
  }
  /** The first item of a strip that may reach to a time: what runs then began no earlier than the last
   * outermost region that began before it. */
  function firstItem(strip, time) {
    const start = strips.item[strip];
    let item = first(start, strips.item[strip + 1], (at) => items.start[at] >= time);
    while (item > start) {
      item -= 1;
      if (items.layer[item] === 0 && !(items.flags[item] & MARK)) break;
    }
    return item;
  }

  let left = 120;
  let wide = 0;
  let high = 0;
  let scale = 1;
  const place = (time) => left + (time - view.from) * scale;
  const fillOf = [];

  function paintBins(context, sm, y, tall) {
    const perPixel = (bins) => ((axis.end - axis.start) / bins) * scale;
    const level = perPixel(fine.bins) >= 0.5 ? fine : coarse;
    if (!(axis.end > axis.start)) return;
    const length = (axis.end - axis.start) / level.bins;
    const from = Math.max(0, Math.floor((view.from - axis.start) / length));
    const to = Math.min(level.bins - 1, Math.floor((view.to - axis.start) / length));
    const base = sm * level.bins;
    for (let bin = from; bin <= to; bin += 1) {
      const [code, shade] = [level.codes[base + bin], level.shades[base + bin]];
      if (shade === 0) continue;
      let next = bin + 1;
      while (next <= to && level.codes[base + next] === code && level.shades[base + next] >> 3 === shade >> 3) next += 1;
      const label = labelOfCode[code];
      const x = Math.max(left, place(axis.start + bin * length));
      context.globalAlpha = (0.3 + (0.7 * shade) / 255) * (highlighted >= 0 && label !== highlighted ? 0.15 : 1);
      context.fillStyle = fillOf[label];
      context.fillRect(x, y, place(axis.start + next * length) - x, tall);
      bin = next - 1;
    }
    context.globalAlpha = 1;
  }

  // What is narrower than a pixel is gathered by layer: the pixel takes the colour of what has most
  // of it (by the majority vote of Boyer and Moore, weighted by time).
  const gathered = Array.from({ length: data.detail.layers }, () => ({ pixel: -1, label: -1, weight: 0, sum: 0 }));
  function flush(context, cell, y) {
    if (cell.pixel < 0) return;
    const dim = highlighted >= 0 && cell.label !== highlighted ? 0.15 : 1;
    context.globalAlpha = Math.min(1, 0.3 + 0.7 * cell.sum * scale) * dim;
    context.fillStyle = fillOf[cell.label];
    context.fillRect(cell.pixel, y, 1, BAR - 1);
    context.globalAlpha = 1;
    cell.pixel = -1;
  }
  function paintStrip(context, strip, top) {
    const last = strips.item[strip + 1];
    const marks = [];
    for (let item = firstItem(strip, view.from); item < last && items.start[item] <= view.to; item += 1) {
      const label = items.label[item];
      if (items.flags[item] & MARK) {
        marks.push(item);
        continue;
      }
      const y = top + items.layer[item] * BAR;
      const [x, size] = [place(items.start[item]), items.length[item] * scale];
      if (x + size < left) continue;
      if (size < 1.2) {
        const cell = gathered[items.layer[item]];
        const pixel = Math.floor(x);
        if (pixel !== cell.pixel) {
          flush(context, cell, y);
          Object.assign(cell, { pixel, label, weight: 0, sum: 0 });
        }
        cell.sum += items.length[item];
        if (label === cell.label) cell.weight += items.length[item];
        else if ((cell.weight -= items.length[item]) < 0) Object.assign(cell, { label, weight: -cell.weight });
        continue;
      }
      const from = Math.max(left, x);
      const to = Math.min(wide, x + size);
      const fill = fillOf[label];
      const isFaint = highlighted >= 0 && label !== highlighted;
      context.globalAlpha = isFaint ? 0.15 : 1;
      context.fillStyle = fill;
      context.fillRect(from, y, Math.max(1, to - from - (size > 4 ? 1 : 0)), BAR - 1);
      if (items.flags[item] & OPEN) {
        context.fillStyle = css("--error");
        context.fillRect(Math.max(from, to - 3), y, 3, BAR - 1);
      }
      const buffer = Math.floor((to - from - 8) / 6.2);
      // Nobody could read a name on a faint bar.
      if (buffer >= 3 && !isFaint) {
        const { name } = data.labels[label];
        context.fillStyle = inkOn(fill);
        context.fillText(name.length > buffer ? `${name.slice(0, buffer - 1)}…` : name, from + 4, y + BAR / 2);
      }
      context.globalAlpha = 1;
    }
    gathered.forEach((cell, layer) => flush(context, cell, top + layer * BAR));
    context.fillStyle = css("--ink");
    let lastX = -3;
    for (const item of marks) {
      const x = Math.round(place(items.start[item]));
      if (x < left || x - lastX < 3) continue;
      lastX = x;
      // A notch at the upper edge, so that the region stays readable.
      context.fillRect(x - 1, top - 1, 3, 2);
      context.fillRect(x, top, 1, 5);
    }
  }
  function paintWarp(context, warp, y) {
    const [x, to] = [Math.max(left, place(warps.entry[warp])), Math.min(wide, place(end(warp)))];
    context.fillStyle = css("--kernel");
    context.globalAlpha = highlighted >= 0 ? 0.3 : 1;
    context.fillRect(x, y, Math.max(0.6, to - x - 1), BAR - 1);
    const broken = warps.flags[warp] & (NEVER_LEFT | CUT) || warps.lost[warp] > 0;
    if (broken) {
      context.fillStyle = css("--error");
      context.fillRect(Math.max(x, to - 4), y, 3, BAR - 1);
    }
    if (to - x > 90) {
      const notes = [`block ${blockName(warp)}, warp ${warps.warp[warp]}`];
      if (warps.flags[warp] & NEVER_LEFT) notes.push("never left");
      if (warps.lost[warp] > 0) notes.push(`LOST ${count(warps.lost[warp])}`);
      if (warps.flags[warp] & CUT) notes.push("rest left out of this page");
      context.fillStyle = css("--ink");
      context.globalAlpha = 1;
      const buffer = Math.floor((to - x - 8) / 6.2);
      context.fillText(notes.join(", ").slice(0, buffer), x + 4, y + BAR / 2);
    }
    context.globalAlpha = 1;
    let top = y + BAR;
    for (let strip = warps.strip[warp]; strip < warps.strip[warp + 1]; strip += 1) {
      paintStrip(context, strip, top);
      top += strips.layers[strip] * BAR;
    }
  }

  function draw() {
    [wide, high] = [viewport.clientWidth, viewport.clientHeight];
    left = grouping.value === "sm" ? Math.min(104, wide * 0.25) : Math.min(170, wide * 0.3);
    scale = (wide - left) / (view.to - view.from);
    data.labels.forEach((_, label) => { fillOf[label] = color(label); });
    const context = sized(canvas, wide, high);
    context.clearRect(0, 0, wide, high);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const top = viewport.scrollTop;
    let at = first(0, rows.length, (row) => rows[row].y + rows[row].high > top);
    const shown = [];
    for (; at < rows.length && rows[at].y < top + high; at += 1) {
      const row = rows[at];
      const y = row.y - top + AXIS_HIGH;
      shown.push([at, y]);
      if (row.host) {
        hostRows.paint(context, row.host, y, { bar: BAR, from: view.from, to: view.to, left, wide, place });
        if (!rows[at + 1]?.host) {
          context.fillStyle = css("--line");
          context.fillRect(left, y + row.high - 2, wide - left, 1);
        }
        continue;
      }
      if (!row.warps) {
        paintBins(context, row.sm, y + 2, SM_HIGH - 4);
        continue;
      }
      let next = first(0, row.warps.length, (warp) => end(row.warps[warp]) >= view.from);
      const isEarlier = next === row.warps.length;
      if (isEarlier || warps.entry[row.warps[next]] > view.to) {
        context.fillStyle = css("--muted");
        context.textAlign = isEarlier ? "left" : "right";
        context.fillText(isEarlier ? "◂ earlier" : "later ▸", isEarlier ? left + 6 : wide - 6, y + row.high / 2);
        context.textAlign = "left";
      }
      for (; next < row.warps.length && warps.entry[row.warps[next]] <= view.to; next += 1) {
        paintWarp(context, row.warps[next], y);
      }
    }
    context.fillStyle = css("--surface");
    context.fillRect(0, 0, left, high);
    for (const [at, y] of shown) {
      const row = rows[at];
      if (at === focused) {
        context.strokeStyle = css("--accent");
        context.strokeRect(0.5, y + 0.5, wide - 1, row.high - 2);
      }
      if (!row.name) continue;
      const [all, here] = data.detail.ofSm[row.sm] ?? [0, 0];
      const sign = row.warps || here === 0 ? "" : opened.has(row.sm) ? "▾ " : "▸ ";
      context.fillStyle = css(row.host || row.warps || here > 0 ? "--ink" : "--muted");
      // Names of threads may be of any length.
      const buffer = Math.floor((left - 12) / 6.2);
      const name = row.host && row.name.length > buffer ? `${row.name.slice(0, buffer - 1)}…` : row.name;
      context.fillText(`${sign}${name}`, 8, y + Math.min(row.high, SM_HIGH) / 2, left - 12);
      if (!row.warps && here < all) {
        context.fillStyle = css("--muted");
        context.fillText(`${here}/${all}`, 66, y + SM_HIGH / 2, left - 70);
      }
    }
    paintAxis(context);
  }
  function paintAxis(context) {
    context.fillStyle = css("--surface");
    context.fillRect(0, 0, wide, AXIS_HIGH);
    context.fillStyle = css("--line");
    context.fillRect(0, AXIS_HIGH - 1, wide, 1);
    context.fillRect(left - 1, 0, 1, high);
    const step = niceStep(view.to - view.from, Math.max(2, (wide - left) / 120));
    const name = moments(Math.max(Math.abs(view.from), Math.abs(view.to)), step);
    for (let at = Math.ceil(view.from / step); at * step <= view.to; at += 1) {
      const x = place(at * step);
      context.fillStyle = css("--line");
      context.fillRect(Math.round(x), AXIS_HIGH - 6, 1, 6);
      context.fillStyle = css("--muted");
      const text = name(at * step);
      if (x + 4 + context.measureText(text).width < wide) context.fillText(text, x + 4, AXIS_HIGH / 2);
    }
    context.fillStyle = css("--muted");
    context.fillText(duration(view.to - view.from), 8, AXIS_HIGH / 2, left - 12);
  }
  let isScheduled = false;
  function schedule() {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      draw();
    });
  }

  function show(from, to) {
    const shortest = Math.min(limits.end - limits.start, data.detail.unit * 40);
    const length = Math.min(limits.end - limits.start, Math.max(shortest, to - from));
    const middle = (from + to) / 2;
    view.from = Math.min(limits.end - length, Math.max(limits.start, middle - length / 2));
    view.to = view.from + length;
    schedule();
  }
  function zoom(factor, x = (wide + left) / 2) {
    const time = view.from + (x - left) / scale;
    const part = (time - view.from) / (view.to - view.from);
    const length = (view.to - view.from) * factor;
    show(time - part * length, time + (1 - part) * length);
  }
  const pan = (part) => show(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
  report.showSpan = (from, to) => show(from - (to - from) * 0.02, to + (to - from) * 0.02);

  /** The item, or else the warp, at a place of the canvas. */
  function hit(x, y) {
    const inside = y - AXIS_HIGH + viewport.scrollTop;
    const at = first(0, rows.length, (row) => rows[row].y + rows[row].high > inside);
    const row = rows[at];
    if (!row || y < AXIS_HIGH) return {};
    const time = view.from + (x - left) / scale;
    const reach = 2 / scale;
    if (x >= left && row.host) {
      const layer = Math.floor((inside - row.y) / BAR);
      return { at, row, time, span: hostRows.hit(row.host, layer, time, reach) };
    }
    if (x < left || !row.warps) return { at, row, time };
    const warp = row.warps[first(0, row.warps.length, (warp) => end(row.warps[warp]) >= time - reach)];
    if (warp === undefined || warps.entry[warp] > time + reach) return { at, row, time };
    let bar = Math.floor((inside - row.y) / BAR) - 1;
    let strip = warps.strip[warp];
    while (strip < warps.strip[warp + 1] && bar >= strips.layers[strip]) bar -= strips.layers[strip++];
    if (bar < 0 || strip === warps.strip[warp + 1]) return { at, row, time, warp };
    let [best, distance] = [-1, reach];
    for (let item = firstItem(strip, time - reach); item < strips.item[strip + 1] && items.start[item] <= time + reach; item += 1) {
      if (items.layer[item] !== bar) continue;
      const off = Math.max(items.start[item] - time, time - items.start[item] - items.length[item], 0);
      // A mark stands before the region that it lies in.
      if (off < distance || (off <= distance && items.flags[item] & MARK)) [best, distance] = [item, off];
    }
    return { at, row, time, warp, strip, item: best };
  }
  function whose(warp) {
    const launch = launches[warps.launch[warp]];
    return `block ${blockName(warp)}, warp ${warps.warp[warp]}, SM ${data.sms[warps.sm[warp]]}, ${data.labels[launch.label].name} #${launch.index}`;
  }
  function describe({ row, time, warp, strip, item, span }) {
    if (row?.host) return span ? hostRows.describe(row.host, span) : "";
    if (item >= 0) {
      const { name, place } = data.labels[items.label[item]];
      const [lane, track] = [strips.lane[strip], strips.track[strip]];
      const isMark = items.flags[item] & MARK;
      const lasted = items.flags[item] & OPEN ? "open: it has no end" : isMark ? "mark" : duration(items.length[item]);
      const recorder = (lane > 0 ? `, lane ${lane}` : "") + (track >= 0 ? `, track ${track}` : "");
      return `${name}: ${lasted}\nat ${duration(items.start[item])}; ${whose(warp)}${recorder}${place ? `\n${place}` : ""}`;
    }
    if (warp !== undefined) {
      const lost = warps.lost[warp] > 0 ? `, ${count(warps.lost[warp])} records LOST` : "";
      const left = warps.flags[warp] & NEVER_LEFT ? "never left the kernel" : `in the kernel for ${duration(warps.length[warp])}`;
      return `${left}${lost}\nfrom ${duration(warps.entry[warp])}; ${whose(warp)}`;
    }
    if (!row || row.warps || !(time >= axis.start && time <= axis.end)) return "";
    const bin = Math.min(fineBins - 1, Math.floor(((time - axis.start) / (axis.end - axis.start)) * fineBins));
    const shade = fine.shades[row.sm * fineBins + bin];
    const [all, here] = data.detail.ofSm[row.sm] ?? [0, 0];
    const held = all === 0 ? "none of its warps is in this window" : here === 0 ? "its warps are left out of this page" : here < all ? `${here} of its ${all} warps are in this page` : `${all} warps`;
    if (shade === 0) return `${row.name} at ${duration(time)}: nothing\n${held}`;
    const label = labelOfCode[fine.codes[row.sm * fineBins + bin]];
    const { name, kind } = data.labels[label];
    return `${row.name} at ${duration(time)}: mostly ${kind === "kernel" ? `${name}, outside any region` : name}\n${held}`;
  }

  function select(found) {
    selected = found.item ?? found.span ?? -1;
    const text = describe(found);
    if (text) selection.textContent = text.replaceAll("\n", "; ");
  }

  const offset = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, y: event.clientY, top: viewport.scrollTop, ...view, moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) {
      const text = describe(hit(...offset(event)));
      if (text !== hovered || text) showTip((hovered = text), event.clientX, event.clientY);
      return;
    }
    const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(x, y) < 4) return;
    drag.moved = true;
    showTip("");
    canvas.classList.add("dragged");
    show(drag.from - x / scale, drag.to - x / scale);
    if (event.pointerType === "mouse") viewport.scrollTop = drag.top - y;
  });
  canvas.addEventListener("pointerup", (event) => {
    const wasClick = drag && !drag.moved;
    drag = null;
    canvas.classList.remove("dragged");
    if (!wasClick) return;
    const found = hit(...offset(event));
    if (!found.row) return;
    focused = found.at;
    select(found);
    if (isSm(found.row) && warpsOfSm[found.row.sm].length > 0) toggle(found.row.sm);
    else schedule();
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => showTip((hovered = "")));
  viewport.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.004))), offset(event)[0]);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan(((event.deltaX || event.deltaY) / wide) * 0.8);
    }
  }, { passive: false });
  viewport.addEventListener("scroll", schedule);

  function focus(row) {
    focused = Math.min(rows.length - 1, Math.max(0, row));
    const { y, high: tall } = rows[focused];
    if (y < viewport.scrollTop) viewport.scrollTop = y;
    const bottom = y + tall + AXIS_HIGH + 8 - high;
    if (bottom > viewport.scrollTop) viewport.scrollTop = bottom;
    const { name, sm } = rows[focused];
    selection.textContent = name ?? `SM ${data.sms[sm]}, a row of warps`;
    schedule();
  }
  /** Selects the next (or previous) region or span of the row in focus. */
  function step(by) {
    const row = rows[focused];
    if (!row || isSm(row)) {
      const below = rows.findIndex((other, at) => at > focused && other.warps);
      if (below >= 0) focus(below);
      return;
    }
    const startOf = ({ span, item }) => span?.start ?? items.start[item];
    const all = row.host ? row.host.spans.map((span) => ({ row, span })) : row.warps.flatMap((warp) => {
      const list = [];
      for (let strip = warps.strip[warp]; strip < warps.strip[warp + 1]; strip += 1) {
        for (let item = strips.item[strip]; item < strips.item[strip + 1]; item += 1) list.push({ row, warp, strip, item });
      }
      return list;
    });
    const now = all.findIndex(({ item, span }) => (span ?? item) === selected);
    const next = now >= 0 ? all[now + by] : all.find((one) => startOf(one) >= view.from) ?? all[0];
    if (!next) return;
    const time = startOf(next);
    if (time < view.from || time > view.to) show(time - (view.to - view.from) / 2, time + (view.to - view.from) / 2);
    select(next);
  }
  const KEYS = {
    ArrowLeft: () => pan(-0.1), a: () => pan(-0.1), ArrowRight: () => pan(0.1), d: () => pan(0.1),
    "+": () => zoom(0.7), "=": () => zoom(0.7), w: () => zoom(0.7), "-": () => zoom(1 / 0.7), s: () => zoom(1 / 0.7),
    0: () => show(limits.start, limits.end), k: () => show(axis.start, axis.end), ArrowDown: () => focus(focused + 1), ArrowUp: () => focus(focused - 1),
    Enter: () => rows[focused] && isSm(rows[focused]) && toggle(rows[focused].sm),
    n: () => step(1), p: () => step(-1),
  };
  viewport.addEventListener("keydown", (event) => {
    const action = KEYS[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });

  // The legend: regions by their time; one of them can be made to stand out.
  const shown = data.labels.map((label, at) => ({ ...label, at })).filter(({ kind }) => kind === "region" || kind === "kernel");
  const isUsed = new Set(data.overview.codes.map((_, label) => label));
  for (const { name, at, kind } of shown.sort((a, b) => (a.kind === "kernel") - (b.kind === "kernel") || a.rank - b.rank).slice(0, 60)) {
    if (!isUsed.has(at)) continue;
    const chip = element("button", { type: "button", class: "chip", "aria-pressed": "false", "data-label": at },
      element("i", { class: "key", "data-label": at }), kind === "kernel" ? `${name} (outside regions)` : name);
    chip.addEventListener("click", () => {
      highlighted = highlighted === at ? -1 : at;
      for (const other of legend.children) other.setAttribute("aria-pressed", String(Number(other.dataset.label) === highlighted));
      draw();
    });
    legend.append(chip);
  }

  // One SM is open from the start, where its warps leave the others in sight.
  const example = data.sms.findIndex((_, sm) => warpsOfSm[sm].length > 0 && slots(sm).reduce((sum, slot) => sum + slotHigh(slot), 0) < 500);
  if (example >= 0) opened.add(example);
  drawn(arrange);
};
