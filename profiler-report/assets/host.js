"use strict";
// What the host did: a row for each of its threads, above those of the GPU.
report.hostRows = (() => {
  const { data, duration, css, inkOn } = report;
  const { names } = data.host;

  const threads = data.host.threads.map(({ name, spans }) => {
    const list = spans.map(([start, length, index, layer, launch, delay]) => ({
      start, end: start + length, name: names[index], layer, launch, delay,
    }));
    return { name, spans: list, layers: list.reduce((most, { layer }) => Math.max(most, layer + 1), 1) };
  });

  /** Draws a thread's spans from `y` on; `place` gives the pixel of a time. */
  function paint(context, thread, y, { bar, from, to, left, wide, place }) {
    // The last pixel that was drawn in each layer: more would be drawn over it.
    const drawn = new Float64Array(thread.layers).fill(-1);
    for (const span of thread.spans) {
      if (span.start > to) break;
      if (span.end < from) continue;
      const [x, end] = [Math.max(left, place(span.start)), Math.min(wide, place(span.end))];
      if (end - x < 1 && Math.floor(x) === drawn[span.layer]) continue;
      drawn[span.layer] = Math.floor(end);
      const top = y + span.layer * bar;
      const fill = css(span.launch === undefined ? "--host" : "--host-launch");
      context.fillStyle = fill;
      context.fillRect(x, top, Math.max(1, end - x - (end - x > 4 ? 1 : 0)), bar - 1);
      const buffer = Math.floor((end - x - 8) / 6.2);
      if (buffer < 3) continue;
      context.fillStyle = inkOn(fill);
      context.fillText(span.name.length > buffer ? `${span.name.slice(0, buffer - 1)}…` : span.name, x + 4, top + bar / 2);
    }
  }

  /** The span of a layer at a time, or within reach of it. */
  function hit(thread, layer, time, reach) {
    let [best, distance] = [undefined, reach];
    for (const span of thread.spans) {
      if (span.start > time + reach) break;
      const off = Math.max(span.start - time, time - span.end, 0);
      if (span.layer === layer && off <= distance) [best, distance] = [span, off];
    }
    return best;
  }

  function describe(thread, { name, start, end, launch, delay }) {
    const call = launch === undefined ? "" : launch < 0 ? ", a call that launches"
      : `, the call of launch #${launch}, which began ${duration(delay)} after it`;
    return `${name}: ${duration(end - start)}${call}\nat ${duration(start)}; thread ${thread.name} of the host`;
  }

  return { threads, paint, hit, describe };
})();
