// Prints the answer of the worker in entries.ts.

import { Miniflare } from "miniflare";

const miniflare = new Miniflare({
  modules: true,
  scriptPath: "dist/entries.js",
  compatibilityDate: "2026-07-01",
  compatibilityFlags: ["nodejs_compat", "enable_request_signal"],
  bindings: { OPENAI_API_KEY: "sk-1" }, // as `.dev.vars` and `wrangler secret put` set it
});
console.log(await (await miniflare.dispatchFetch("http://localhost/")).text());
await miniflare.dispose();
