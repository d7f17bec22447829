// SPDX-License-Identifier: Apache-2.0
// Perfetto's trace processor as a WebAssembly module.  It is made for a worker of a browser, so Node has
// to look like one: it asks for its code, and is then spoken to through a port.
import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";
import { MessageChannel } from "node:worker_threads";

/** A worker's world, in which the module's code is the answer to whatever is asked for. */
function world(folder) {
  const wasm = readFileSync(path.join(folder, "trace_processor.wasm"));
  class XMLHttpRequest {
    open() {}
    send() {
      this.response = wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length);
    }
  }
  Object.assign(globalThis, { self: globalThis, WorkerGlobalScope: class {}, location: { href: "http://localhost/" }, XMLHttpRequest });
}

export async function open(folder, traces) {
  const { EngineBase } = await import(pathToFileURL(path.join(folder, "engine.mjs")).href);
  class Processor extends EngineBase {
    mode = "WASM";
    id = "test";
    constructor(port) {
      super();
      this.port = port;
      port.onmessage = (m) => this.onRpcResponseBytes(m.data);
    }
    rpcSendRequestBytes(bytes) {
      this.port.postMessage(bytes);
    }
    [Symbol.dispose ?? Symbol("dispose")]() {}
  }
  const opened = [];
  world(folder);
  for (const trace of traces) {
    vm.runInThisContext(readFileSync(path.join(folder, "engine_bundle.node.js"), "utf8"));
    await new Promise(setImmediate); // its first steps
    const { port1, port2 } = new MessageChannel();
    globalThis.onmessage({ data: port1 });
    const processor = new Processor(port2);
    const bytes = new Uint8Array(readFileSync(trace));
    for (let at = 0; at < bytes.length; at += 1 << 24) await processor.parse(bytes.subarray(at, at + (1 << 24)));
    await processor.notifyEof();
    opened.push({
      /** Rows as objects, numbers of 64 bits as BigInt. */
      async sql(query) {
        const result = await processor.query(query);
        if (result.error()) throw new Error(`${query}: ${result.error()}`);
        const rows = [];
        for (const it = result.iter({}); it.valid(); it.next()) rows.push(Object.fromEntries(result.columns().map((c) => [c, it.get(c)])));
        return rows;
      },
      close: () => (port1.close(), port2.close()),
    });
  }
  return opened;
}
