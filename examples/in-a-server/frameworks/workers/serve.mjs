// Runs the built worker in workerd, the engine of Cloudflare Workers.

import { Miniflare } from "miniflare";

const miniflare = new Miniflare({
  modules: true,
  scriptPath: "dist/worker.js",
  compatibilityDate: "2026-07-01",
  compatibilityFlags: ["nodejs_compat", "enable_request_signal"],
  // Without the proxy of Miniflare, which does not tell the worker that a page has disconnected.
  unsafeDirectSockets: [{ host: "127.0.0.1", port: Number(process.env.PORT) }],
});
await miniflare.ready;
