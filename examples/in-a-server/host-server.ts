// A server with a run host. If the process must end, it drains the runs, and the next process resumes them. The conversations are in the
// Postgres database of DATABASE_URL.

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import { defineTool } from "turnwright";
import { postgresConversationStore } from "turnwright/conversation";
import { createRunHost, pipeEventStream } from "turnwright/host";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const getForecast = defineTool({
  name: "get_forecast",
  description: "Takes a moment",
  inputSchema: { type: "object" },
  execute: async () => (await sleep(1_000), "rain"),
});
const provider = createMockProvider(({ messages }) =>
  messages.some(({ role }) => role === "tool") ? text("Yes, take a coat.") : [text("Let me see. "), toolCall("get_forecast")],
);
const tools = [getForecast];
const app: RequestListener = (request, response) => {
  const id = request.url?.slice(1) ?? "";
  const begun = request.method === "POST" ? host.start(id, { provider, tools, message: "Do I need a coat?" }) : undefined;
  void Promise.resolve(begun).then(() => pipeEventStream(host.join(id), response));
};

// #region restart
const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
pool.on("error", console.error);
const host = createRunHost({ store: postgresConversationStore(pool) });
const server = createServer(app); // your routes, for example those of Express

/** Resumes the runs that a crash or `host.close()` has cut off. */
async function resumeAll(): Promise<void> {
  let isBusy = false;
  for await (const { id } of host.list()) {
    try {
      const found = await host.status(id);
      const isCut = found?.status === "running" || found?.reason?.kind === "drained";
      if (isCut && !found.isLive) isBusy = (await host.resume(id, { provider, tools })).kind === "busy" || isBusy;
    } catch (error) {
      console.error(id, error); // the other conversations go on
    }
  }
  // Another process has a run. If it was killed, Postgres frees the run after 30 seconds.
  if (isBusy) setTimeout(() => void resumeAll().catch(console.error), 35_000).unref();
}

server.listen(Number(process.env["PORT"] ?? 3000));
void resumeAll().catch(console.error);

process.once("SIGTERM", () => {
  // Each run finishes its iteration, and its pages get the end. Then the process ends.
  void host.close().then(() => server.close(() => void pool.end()));
});
// #endregion restart
server.on("listening", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
