"use strict";
// What all parts of the page share: the data, figures as people read them, colours, elements.
const report = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  /** Four significant digits, without trailing zeros. */
  function digits(value) {
    if (!Number.isFinite(value)) return "?";
    if (value === 0) return "0";
    const decimals = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value)))));
    const text = value.toFixed(decimals);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }

  /** A time in the unit that suits it, which is chosen when its digits are rounded. */
  function duration(ns) {
    const size = Number(Math.abs(ns).toPrecision(4));
    const [scale, unit] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    const number = scale > 1 ? Math.sign(ns) * Math.max(1, Math.abs(ns) / scale) : ns;
    return `${digits(number)} ${unit}`;
  }

  /** Moments of an axis, all in the unit of its longest and with the digits that its step needs. */
  function moments(longest, step) {
    const size = Math.abs(longest);
    const [scale, unit] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9)));
    return (ns) => `${(ns / scale).toFixed(decimals)} ${unit}`;
  }

  function count(number) {
    return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  }

  /** The roundest step that parts the length into at most `most` parts. */
  function niceStep(length, most) {
    const rough = length / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough * (1 - 1e-9));
  }

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
    }
    // Text becomes text nodes, whatever it holds.
    node.append(...children);
    return node;
  }
  const element = (name, attributes, ...children) =>
    fill(document.createElement(name), attributes, children);
  const svg = (name, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  // Okabe and Ito's colours, which people with any kind of colour vision tell apart; after seven
  // regions the same hues darker, then lighter.
  const HUES = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0], [240, 228, 66]];
  function categorical(rank) {
    const hue = HUES[rank % HUES.length];
    const turn = Math.floor(rank / HUES.length) % 3;
    const mixed = turn === 0 ? hue : hue.map((part) => (turn === 1 ? part * 0.62 : part + (255 - part) * 0.5));
    return `rgb(${mixed.map(Math.round).join(",")})`;
  }
  /** Cividis at five points: dark blue over grey to yellow, even in brightness. */
  const SCALE = [[0, 34, 78], [65, 77, 107], [124, 123, 120], [188, 174, 108], [254, 232, 56]];
  function sequential(share) {
    const at = Math.min(1, Math.max(0, share)) * (SCALE.length - 1);
    const low = Math.min(SCALE.length - 2, Math.floor(at));
    const mixed = SCALE[low].map((part, index) => part + (SCALE[low + 1][index] - part) * (at - low));
    return `rgb(${mixed.map(Math.round).join(",")})`;
  }

  let cached = new Map();
  /** The value that a colour of the style sheet has now. */
  function css(name) {
    if (!cached.has(name)) {
      const probe = document.body.appendChild(element("span", { style: `color: var(${name})` }));
      cached.set(name, getComputedStyle(probe).color);
      probe.remove();
    }
    return cached.get(name);
  }
  /** The colour of a label; the kernel's is that of the style sheet. */
  function color(label) {
    const { kind, rank } = data.labels[label];
    return kind === "region" ? categorical(rank) : css("--kernel");
  }
  /** Black or white, whichever differs more from a colour. */
  function inkOn(background) {
    // Relative luminance, by the Web Content Accessibility Guidelines; black and white differ as much
    // from 0.179.
    const [red, green, blue] = background.match(/[\d.]+/g).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
  }

  const redraws = [];
  /** Draws now, and again when colours or widths change. */
  function drawn(draw) {
    redraws.push(draw);
    draw();
  }
  function redraw() {
    cached = new Map();
    for (const draw of redraws) draw();
  }
  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const next = { system: "light", light: "dark", dark: "system" }[root.dataset.theme ?? "system"];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    button.textContent = `Theme: ${next}`;
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = document.body.clientWidth;
  addEventListener("resize", () => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    redraw();
  });

  const tip = document.getElementById("tip");
  /** Shows text at a place of the window; nothing hides it. */
  function showTip(text, x, y) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
  }

  /** A canvas as wide as its parent and sharp on its screen; its context counts in CSS pixels. */
  function sized(canvas, wide, high) {
    const ratio = devicePixelRatio || 1;
    const [pixelsWide, pixelsHigh] = [Math.round(wide * ratio), Math.round(high * ratio)];
    if (canvas.width !== pixelsWide || canvas.height !== pixelsHigh) {
      canvas.width = pixelsWide;
      canvas.height = pixelsHigh;
      canvas.style.width = `${wide}px`;
      canvas.style.height = `${high}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  /** The bytes of a blob of the page. */
  async function unpack(id) {
    const text = document.getElementById(id).textContent;
    const bytes = Uint8Array.fromBase64
      ? Uint8Array.fromBase64(text)
      : Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const { writable, readable } = new DecompressionStream("deflate");
    const writer = writable.getWriter();
    const written = writer.write(bytes).then(() => writer.close());
    const chunks = [];
    const reader = readable.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) chunks.push(part.value);
    await written;
    const plain = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let at = 0;
    for (const chunk of chunks) {
      plain.set(chunk, at);
      at += chunk.length;
    }
    return plain;
  }

  const pickers = [];
  const picked = { row: -1 };
  /** Calls with the row of the statistics that is picked, whenever another one is. */
  const onPick = (call) => pickers.push(call);
  function pick(row) {
    picked.row = row;
    for (const call of pickers) call(row);
  }

  return {
    data, digits, duration, moments, count, niceStep, element, svg, categorical, sequential, css, color, inkOn,
    drawn, showTip, sized, unpack, onPick, pick, picked,
  };
})();
