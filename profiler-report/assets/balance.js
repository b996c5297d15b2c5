"use strict";
// How a launch ended: warps in the kernel over time, and when each SM had none left.
(() => {
  const { data, duration, moments, niceStep, digits, element, svg, drawn } = report;
  const host = document.getElementById("balance");
  const rows = [...document.querySelectorAll("#launches tbody tr")];
  // The number of a launch: the longest at first.
  let chosen = data.curves.reduce((best, curve) => (curve.length > (best?.length ?? 0) ? curve : best), undefined)?.launch;

  function axis(plot, wide, high, length) {
    const step = niceStep(length || 1, Math.max(2, wide / 110));
    const name = moments(length, step);
    plot.append(svg("line", { class: "axis", x1: 0, x2: wide, y1: high, y2: high }));
    for (let at = 0; at <= length; at += step) {
      const x = (at / length) * wide;
      plot.append(
        svg("line", { class: "axis", x1: x, x2: x, y1: high, y2: high + 4 }),
        svg("text", { x, y: high + 16, "text-anchor": at === 0 ? "start" : "middle" }, name(at)),
      );
    }
  }

  function frame(title, about, height) {
    const wide = Math.max(300, (host.clientWidth - 32) / (host.clientWidth > 980 ? 2 : 1));
    const [left, top] = [52, 10];
    const inner = { wide: wide - left - 26, high: height - top - 22 };
    const plot = svg("g", { transform: `translate(${left},${top})` });
    const drawing = svg("svg", { width: wide, height, viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": `${title}. ${about}` }, plot);
    return { plot, inner, figure: element("div", {}, element("h3", {}, title), drawing, element("p", { class: "note" }, about)) };
  }

  function tail(plot, curve, inner) {
    const x = (1 - curve.tail / curve.length) * inner.wide;
    plot.append(
      svg("rect", { x, y: 0, width: Math.max(0, inner.wide - x), height: inner.high, fill: "currentColor", opacity: 0.08 }),
      svg("line", { class: "mark", x1: x, x2: x, y1: 0, y2: inner.high }),
    );
  }

  function draw() {
    host.replaceChildren();
    const curve = data.curves.find((curve) => curve.launch === chosen);
    for (const row of rows) row.classList.toggle("picked", Number(row.dataset.launch) === chosen);
    // A page from which the cost of recording was subtracted has none, and says so above.
    if (!curve && chosen !== undefined && data.curves.length > 0) {
      host.append(element("p", { class: "note" }, `Launch ${chosen} has no curves in this page: only the ${data.curves.length} longest have.`));
    }
    // A launch without warps has none.
    if (!(curve?.length > 0) || curve.finish.length === 0) return;
    const most = Math.max(...curve.active, 1);
    const active = frame(
      `Warps in the kernel, launch ${curve.launch}`,
      `Averaged over each 256th of the launch: at most ${digits(most)}. Shaded: the tail of ${duration(curve.tail)}, from the moment when the first SM had no warp left.`,
      210,
    );
    const place = (value, at) =>
      `${(at / curve.active.length) * active.inner.wide},${active.inner.high * (1 - value / most)}`;
    const points = curve.active.flatMap((value, at) => [place(value, at), place(value, at + 1)]);
    const outline = `0,${active.inner.high} ${points.join(" ")} ${active.inner.wide},${active.inner.high}`;
    tail(active.plot, curve, active.inner);
    active.plot.append(svg("polygon", { points: outline, fill: "var(--accent)", opacity: 0.75 }));
    for (const value of [most / 2, most]) {
      const y = active.inner.high * (1 - value / most);
      active.plot.append(svg("text", { x: -6, y: y + 4, "text-anchor": "end" }, digits(value)));
    }
    axis(active.plot, active.inner.wide, active.inner.high, curve.length);

    const [first, last] = [curve.finish[0], curve.finish[curve.finish.length - 1]];
    const finish = frame(
      "When each SM had no warp left",
      `SMs in the order in which they finished: SM ${first[0]} first at ${duration(first[1])}, SM ${last[0]} last at ${duration(last[1])}. What is not filled: idle.`,
      210,
    );
    const high = finish.inner.high / curve.finish.length;
    finish.plot.append(svg("rect", { x: 0, y: 0, width: finish.inner.wide, height: finish.inner.high, fill: "var(--sunken)" }));
    curve.finish.forEach(([sm, end, stay], at) => {
      const box = { x: 0, y: at * high, width: (end / curve.length) * finish.inner.wide, height: Math.max(high - (high > 3 ? 1 : 0), 0.5), fill: "var(--accent)", opacity: 0.75 };
      const text = `SM ${sm}: finished at ${duration(end)}; its warps spent ${duration(stay)} in all`;
      finish.plot.append(svg("rect", box, svg("title", {}, text)));
    });
    finish.plot.append(
      svg("text", { x: -6, y: 10, "text-anchor": "end" }, `SM ${first[0]}`),
      svg("text", { x: -6, y: finish.inner.high, "text-anchor": "end" }, `SM ${last[0]}`),
    );
    axis(finish.plot, finish.inner.wide, finish.inner.high, curve.length);
    host.append(element("div", { class: "pair" }, active.figure, finish.figure));
  }

  for (const row of rows) {
    row.querySelector(".pick").addEventListener("click", () => {
      chosen = Number(row.dataset.launch);
      draw();
      report.showSpan?.(Number(row.dataset.start), Number(row.dataset.end));
    });
  }
  drawn(draw);
})();
