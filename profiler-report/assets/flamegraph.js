"use strict";
// Zoom, and search by name. Without scripts the image shows everything, with its figures on hover.
(() => {
  const root = document.currentScript.parentNode;
  const graph = document.getElementById("frames");
  const frames = [...graph.querySelectorAll(".frame")].map((element) => ({
    element,
    name: element.querySelector("text").textContent,
    from: Number(element.dataset.from),
    ns: Number(element.dataset.ns),
    depth: Number(element.dataset.depth),
  }));
  const all = frames[0];
  let zoomed = all;

  /** Names are shown where there is room for some of their letters. */
  function fit() {
    const pixels = graph.getBoundingClientRect().width / zoomed.ns;
    for (const { element, ns } of frames) element.classList.toggle("narrow", Math.min(ns, zoomed.ns) * pixels < 20);
  }

  /** Shows a frame as wide as the image, what is in it, and what is around it. */
  function zoom(to) {
    zoomed = to;
    for (const frame of frames) {
      const { element, from, ns, depth } = frame;
      const isWithin = depth >= to.depth && from >= to.from && from + ns <= to.from + to.ns;
      const isAround = depth < to.depth && from <= to.from && from + ns >= to.from + to.ns;
      element.style.display = isWithin || isAround ? "" : "none";
      element.classList.toggle("around", isAround);
      element.setAttribute("x", isWithin ? `${((from - to.from) / to.ns) * 100}%` : "0%");
      element.setAttribute("width", isWithin ? `${(ns / to.ns) * 100}%` : "100%");
    }
    fit();
  }

  const html = (name) => document.createElementNS("http://www.w3.org/1999/xhtml", name);
  const place = document.createElementNS("http://www.w3.org/2000/svg", "foreignObject");
  const box = html("div");
  const answer = html("span");
  const input = html("input");
  box.id = "search";
  input.type = "search";
  input.placeholder = "find regions";
  input.setAttribute("aria-label", "Find regions by a part of their name");
  answer.setAttribute("role", "status");
  box.append(answer, input);
  place.append(box);
  for (const [name, value] of Object.entries({ x: "39%", y: 6, width: "60%", height: 30 })) place.setAttribute(name, value);
  root.append(place);

  /** Marks the frames of some name, and says what share of all time is in them. */
  function search() {
    const wanted = input.value.trim().toLowerCase();
    let [count, ns, counted] = [0, 0, -1];
    for (const { element, name, from, ns: length, depth } of frames) {
      const isFound = wanted !== "" && depth > 0 && name.toLowerCase().includes(wanted);
      element.classList.toggle("found", isFound);
      if (!isFound) continue;
      count += 1;
      // Outer frames come first: what lies in one that is found is counted with it.
      if (from + length <= counted) continue;
      ns += length;
      counted = from + length;
    }
    graph.classList.toggle("searching", wanted !== "");
    const share = ((ns / all.ns) * 100).toPrecision(4).replace(/\.?0+$/, "");
    answer.textContent = wanted === "" ? "Click a frame to zoom in, Escape to see all." : `${count} ${count === 1 ? "frame" : "frames"}, ${share} % of all time`;
  }

  for (const frame of frames) {
    frame.element.setAttribute("tabindex", "0");
    frame.element.addEventListener("click", () => zoom(frame));
    frame.element.addEventListener("keydown", ({ key }) => {
      if (key === "Enter") zoom(frame);
    });
  }
  input.addEventListener("input", search);
  addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    input.value = "";
    search();
    zoom(all);
  });
  addEventListener("resize", fit);
  // As wide as the window.
  root.setAttribute("width", "100%");
  search();
  zoom(all);
})();
