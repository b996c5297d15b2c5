// Answers SQL about a trace with Perfetto's own trace processor.
//
//   node query.mjs FOLDER TRACE < statements.json > answers.json
//
// FOLDER holds trace_processor.wasm and engine_bundle.js. The statements are a JSON array of strings;
// the answer is { "load": null | "why not", "answers": [{ "columns": [..], "rows": [[..]] } |
// { "error": ".." }], "loaded": { "ms": .., "processor_ms": .. }, "answered": the same, "peak_bytes":
// .. }: what loading and all statements took, and the largest resident set of this process. Integers
// beyond 2^53, and blobs, come as strings.
//
// The engine is built for a browser's worker thread: its bundle takes the engine's messages through
// a port. Here it gets stand-ins for the few things of a worker that it uses.
import fs from 'node:fs';
import path from 'node:path';

const [folder, trace] = process.argv.slice(2);
const METHOD = { append: 1, finalize: 2, query: 3 };

// ---- protobuf ----

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}

function field(number, value) {
  if (typeof value === 'number') return Buffer.concat([varint(number * 8), varint(value)]);
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

/** Reads a message or a packed list from its bytes. */
class Cursor {
  constructor(bytes) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.at = 0;
  }

  done() {
    return this.at >= this.bytes.length;
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error('the engine cut a number off');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  }

  double() {
    this.at += 8;
    return this.bytes.readDoubleLE(this.at - 8);
  }

  /** Calls `each(number, value)` for every field. */
  fields(each) {
    while (!this.done()) {
      const tag = Number(this.varint());
      const kind = tag & 7;
      let value;
      if (kind === 0) value = this.varint();
      else if (kind === 1) value = this.double();
      else {
        const length = kind === 2 ? Number(this.varint()) : 4;
        value = this.bytes.subarray(this.at, this.at + length);
        this.at += length;
      }
      each(tag >> 3, value);
    }
  }
}

// ---- engine ----

const messages = [];
let receive = () => {};

function start() {
  const note = (...words) => messages.push(words.join(' '));
  class FileRequest {
    open(_method, address) {
      this.path = path.join(folder, path.basename(address));
    }
    send() {
      this.response = fs.readFileSync(this.path);
    }
  }
  // The bundle asks whether memories of 64 bits work, by compiling a module whose first section
  // (type 5) is a memory. The engine for 32 bits serves tests in every version of node.
  const narrow = Object.create(WebAssembly, {
    Module: {
      value: function Module(bytes) {
        if (bytes[8] === 5) throw new Error('no memory of 64 bits');
        return new WebAssembly.Module(bytes);
      },
    },
  });
  const worker = { location: { href: 'file:///engine_bundle.js' } };
  const standIns = {
    self: worker,
    WorkerGlobalScope: Object,
    process: undefined,
    WebAssembly: narrow,
    XMLHttpRequest: FileRequest,
    console: { log: note, warn: note, error: note, info: note, debug: note },
  };
  const source = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
  new Function(...Object.keys(standIns), source)(...Object.values(standIns));
  return worker;
}

let sequence = 0;

/** One request; `each(number, value)` gets the fields of all its replies. */
function call(port, method, body, each) {
  let replied = false;
  receive = (bytes) => {
    replied = true;
    new Cursor(bytes).fields((_, reply) => {
      new Cursor(reply).fields((number, value) => {
        if (number === 5) throw new Error(`the engine failed: ${value}`);
        each(number, value);
      });
    });
  };
  const request = Buffer.concat([field(1, ++sequence), field(2, method), body]);
  port.onmessage({ data: field(1, request) });
  if (!replied) throw new Error(`the engine does not answer: ${messages.slice(-5).join('\n')}`);
}

function load(port) {
  let failure = null;
  const file = fs.openSync(trace);
  const chunk = Buffer.alloc(4 << 20);
  for (;;) {
    const length = fs.readSync(file, chunk);
    if (length === 0 || failure) break;
    call(port, METHOD.append, field(101, chunk.subarray(0, length)), (number, value) => {
      if (number === 201) {
        new Cursor(value).fields((inner, text) => {
          if (inner === 2) failure = String(text);
        });
      }
    });
  }
  fs.closeSync(file);
  if (!failure) {
    call(port, METHOD.finalize, Buffer.alloc(0), (number, value) => {
      if (number === 212) {
        new Cursor(value).fields((inner, text) => {
          if (inner === 1) failure = String(text);
        });
      }
    });
  }
  return failure;
}

function plain(integer) {
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : String(integer);
}

function query(port, statement) {
  const answer = { columns: [], rows: [] };
  let row = [];
  call(port, METHOD.query, field(103, field(1, Buffer.from(statement))), (number, reply) => {
    if (number !== 203) return;
    new Cursor(reply).fields((inner, value) => {
      if (inner === 1) answer.columns.push(String(value));
      if (inner === 2) answer.error = String(value);
      if (inner === 3) batch(value);
    });
  });
  return answer.error === undefined ? answer : { error: answer.error };

  // The types of the cells come as one list, and the values of each type as another.
  function batch(bytes) {
    const parts = {};
    const blobs = [];
    new Cursor(bytes).fields((inner, value) => {
      if (inner === 4) blobs.push(value.toString('hex'));
      else parts[inner] = value;
    });
    const nothing = Buffer.alloc(0);
    const integers = new Cursor(parts[2] ?? nothing);
    const doubles = new Cursor(parts[3] ?? nothing);
    const strings = String(parts[5] ?? '').split('\0').values();
    const read = {
      1: () => null,
      2: () => plain(integers.varint()),
      3: () => doubles.double(),
      4: () => strings.next().value,
      5: () => blobs.shift(),
    };
    for (const type of parts[1] ?? nothing) {
      row.push(read[type]());
      if (row.length === answer.columns.length) {
        answer.rows.push(row);
        row = [];
      }
    }
  }
}

const statements = JSON.parse(fs.readFileSync(0, 'utf8'));
const worker = start();
await new Promise(setImmediate); // The bundle gets ready in a promise.
const port = { postMessage: (bytes) => receive(bytes) };
worker.onmessage({ data: port });
const now = () => ({ at: performance.now(), processor: process.cpuUsage() });
const since = (begin, end) => ({
  ms: end.at - begin.at,
  processor_ms:
    (end.processor.user + end.processor.system - begin.processor.user - begin.processor.system) / 1e3,
});
const begun = now();
const failure = load(port);
const loaded = now();
const answers = failure ? [] : statements.map((statement) => query(port, statement));
const answered = now();
process.stdout.write(
  JSON.stringify({
    load: failure,
    answers,
    loaded: since(begun, loaded),
    answered: since(loaded, answered),
    peak_bytes: process.resourceUsage().maxRSS * 1024,
  }),
);
