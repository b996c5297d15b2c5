"use strict";
// Single regions, unpacked into arrays: see the documentation of detail.rs for the columns.
report.unpackDetail = (bytes) => {
  const { data } = report;
  const { unit, columns, launches: launchCount, warps: warpCount, strips: stripCount, items: itemCount } = data.detail;
  const origin = data.axis.start;
  let at = 0;
  /** A number in groups of seven bits. Beyond 31 bits it is put together by multiplication. */
  function number() {
    let byte = bytes[at++];
    if (byte < 0x80) return byte;
    let [value, factor] = [byte & 0x7f, 128];
    do {
      byte = bytes[at++];
      value += (byte & 0x7f) * factor;
      factor *= 128;
    } while (byte >= 0x80);
    return value;
  }
  function signed() {
    const value = number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  const column = [0];
  for (const length of columns) column.push(column[column.length - 1] + length);

  const launches = [];
  for (let launch = 0; launch < launchCount; launch += 1) {
    launches.push({ index: number(), label: number(), grid: [number(), number(), number()] });
  }
  at = column[1];
  const warps = {
    count: warpCount,
    launch: new Uint32Array(warpCount), sm: new Uint32Array(warpCount), block: new Float64Array(warpCount),
    warp: new Uint32Array(warpCount), entry: new Float64Array(warpCount), length: new Float64Array(warpCount),
    flags: new Uint8Array(warpCount), lost: new Float64Array(warpCount),
    strip: new Uint32Array(warpCount + 1),
  };
  let entry = 0;
  for (let warp = 0; warp < warpCount; warp += 1) {
    warps.launch[warp] = number();
    warps.sm[warp] = number();
    warps.block[warp] = number();
    warps.warp[warp] = number();
    entry += signed();
    warps.entry[warp] = entry * unit + origin;
    warps.length[warp] = number() * unit;
    warps.flags[warp] = number();
    warps.lost[warp] = number();
    warps.strip[warp + 1] = warps.strip[warp] + number();
  }
  at = column[2];
  const strips = {
    lane: new Uint8Array(stripCount), track: new Float64Array(stripCount),
    layers: new Uint8Array(stripCount), item: new Uint32Array(stripCount + 1),
  };
  for (let strip = 0; strip < stripCount; strip += 1) {
    strips.lane[strip] = number();
    strips.track[strip] = number() - 1;
    strips.item[strip + 1] = strips.item[strip] + number();
  }
  at = column[3];
  const items = {
    start: new Float64Array(itemCount), length: new Float64Array(itemCount),
    label: new Uint32Array(itemCount), layer: new Uint8Array(itemCount), flags: new Uint8Array(itemCount),
  };
  for (let warp = 0; warp < warpCount; warp += 1) {
    const from = Math.round((warps.entry[warp] - origin) / unit);
    for (let strip = warps.strip[warp]; strip < warps.strip[warp + 1]; strip += 1) {
      let start = from;
      let layers = 1;
      for (let item = strips.item[strip]; item < strips.item[strip + 1]; item += 1) {
        start += signed();
        items.start[item] = start * unit + origin;
        items.length[item] = number() * unit;
        const code = number();
        items.label[item] = Math.floor(code / 64);
        const layer = (code >> 2) & 15;
        items.layer[item] = layer;
        items.flags[item] = code & 3;
        if (layer >= layers) layers = layer + 1;
      }
      strips.layers[strip] = layers;
    }
  }
  return { launches, warps, strips, items, OPEN: 1, MARK: 2, NEVER_LEFT: 1, CUT: 2 };
};
