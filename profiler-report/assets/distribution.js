"use strict";
// How long regions lasted: a small histogram in each row of the table, a large one of the picked row.
(() => {
  const { data, duration, count, element, svg, color, drawn, onPick, picked } = report;

  const edge = (histogram, bin) => 2 ** ((histogram.first + bin) / histogram.perDoubling);

  function bars(histogram, wide, high, fillColor, scale) {
    const most = Math.max(...histogram.counts, histogram.zeros, 1);
    const bins = histogram.counts.length;
    const step = wide / Math.max(bins, 12);
    const from = (wide - step * bins) / 2;
    return histogram.counts.flatMap((number, bin) => {
      if (number === 0) return [];
      const size = Math.max(1.5, (scale(number) / scale(most)) * high);
      const box = { x: from + bin * step, y: high - size, width: Math.max(1, step - 0.7), height: size, fill: fillColor };
      const text = `${duration(edge(histogram, bin))} to ${duration(edge(histogram, bin + 1))}: ${count(number)}`;
      return [svg("rect", box, svg("title", {}, text))];
    });
  }

  drawn(() => {
    for (const cell of document.querySelectorAll("td.spark")) {
      const { histogram, count: number } = data.rows[cell.dataset.row];
      cell.replaceChildren();
      if (number > 0) {
        const drawing = svg("svg", { width: 120, height: 24, viewBox: "0 0 120 24", "aria-hidden": "true" });
        drawing.append(...bars(histogram, 120, 24, color(cell.dataset.row), Math.sqrt));
        cell.append(drawing);
      }
    }
  });

  const figure = document.getElementById("distribution");
  const controls = element("div", { class: "controls" });
  const logarithmic = element("input", { type: "checkbox", id: "log-counts", onchange: () => draw() });
  controls.append(logarithmic, element("label", { for: "log-counts" }, "logarithmic counts"));

  function draw() {
    const row = picked.row;
    figure.replaceChildren();
    if (row < 0) return;
    const stats = data.rows[row];
    const { histogram } = stats;
    const name = data.labels[row].name;
    const caption = element("figcaption", {}, element("strong", {}, name));
    figure.append(caption);
    if (stats.count === 0) {
      caption.append(" has no region with an end.");
      return;
    }
    caption.append(
      `: ${count(stats.count)} durations from ${duration(stats.min)} to ${duration(stats.max)}, half of them at most `
        + `${duration(stats.p50)}, 95 % at most ${duration(stats.p95)}, 99 % at most ${duration(stats.p99)}.`
        + (histogram.zeros > 0 ? ` ${count(histogram.zeros)} lasted less than the clock's step (0 ns).` : ""),
    );
    const [wide, high, left, top] = [Math.max(320, figure.clientWidth), 242, 56, 46];
    const inner = { wide: wide - left - 12, high: high - top - 26 };
    const most = Math.max(...histogram.counts, 1);
    const scale = logarithmic.checked ? (number) => Math.log10(number + 1) : (number) => number;
    const bins = histogram.counts.length;
    const step = inner.wide / bins;
    const drawing = svg("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": caption.textContent });
    const plot = svg("g", { transform: `translate(${left},${top})` });
    const ticks = logarithmic.checked
      ? Array.from({ length: Math.ceil(Math.log10(most + 1)) }, (_, power) => 10 ** power)
      : [most / 2, most].filter(Number.isInteger);
    for (const tick of ticks) {
      const y = inner.high * (1 - scale(tick) / scale(most));
      plot.append(
        svg("line", { class: "axis", x1: 0, x2: inner.wide, y1: y, y2: y }),
        svg("text", { x: -6, y: y + 4, "text-anchor": "end" }, count(tick)),
      );
    }
    histogram.counts.forEach((number, bin) => {
      if (number === 0) return;
      const size = Math.max(1, (scale(number) / scale(most)) * inner.high);
      const text = `${duration(edge(histogram, bin))} to ${duration(edge(histogram, bin + 1))}: ${count(number)}`;
      const box = { x: bin * step, y: inner.high - size, width: Math.max(1, step - 1), height: size, fill: color(row) };
      plot.append(svg("rect", box, svg("title", {}, text)));
    });
    plot.append(svg("line", { class: "axis", x1: 0, x2: inner.wide, y1: inner.high, y2: inner.high }));
    const every = Math.max(1, Math.ceil(90 / step));
    for (let bin = 0; bin <= bins; bin += every) {
      const x = bin * step;
      const anchor = bin === 0 ? "start" : inner.wide - x < 30 ? "end" : "middle";
      plot.append(svg("text", { x, y: inner.high + 16, "text-anchor": anchor }, duration(edge(histogram, bin))));
    }
    // Names of quantiles that lie close together stand above each other, each but the last on the left of its
    // line: the next line would go through them.
    const quantiles = ["p50", "p95", "p99"].map((name) => {
      const place = Math.log2(Math.max(stats[name], 1e-3)) * histogram.perDoubling - histogram.first;
      return { name, x: Math.min(bins, Math.max(0, place)) * step };
    });
    const areClose = (left, right) => left !== undefined && right !== undefined && right.x - left.x < 34;
    let level = 0;
    quantiles.forEach(({ name, x }, index) => {
      level = areClose(quantiles[index - 1], quantiles[index]) ? level + 1 : 0;
      const isLeft = areClose(quantiles[index], quantiles[index + 1]);
      const label = isLeft ? { x: x - 2, "text-anchor": "end" } : { x: Math.min(x, inner.wide - 24) };
      plot.append(
        svg("line", { class: "mark", x1: x, x2: x, y1: -4 - 12 * level, y2: inner.high }),
        svg("text", { class: "strong", y: -8 - 12 * level, ...label }, name),
      );
    });
    drawing.append(plot);
    figure.append(drawing, controls);
  }
  onPick(draw);
  drawn(draw);
})();
