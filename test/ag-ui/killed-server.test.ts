import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { defineTool } from "turnwright";
import type { AGUIEvent } from "turnwright/ag-ui";
import { fileConversationStore } from "turnwright/conversation";
import { createMockProvider, text } from "turnwright/testing";
import { startChild } from "../child-server.ts";
import { openAgent, type PageAgent, readMessages, resultsOf, textOf, versions } from "./clients.ts";
import { readSent, serve } from "./page-server.ts";

/**
 * Reads a response to its end. If the connection breaks, the returned body ends without an error. With an error, the AG-UI client
 * would leave a rejected promise unhandled.
 */
async function fetchToEnd(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  response.body?.pipeTo(writable, { preventAbort: true }).catch(() => writable.close());
  return new Response(readable, response);
}

/** Kills the server when the page shows the beginning of the last answer. */
async function runUntilKilled(page: PageAgent, kill: () => Promise<void>): Promise<void> {
  const onEvent = ({ event }: { readonly event: AGUIEvent }): void => {
    if (event.type === "TEXT_MESSAGE_CONTENT" && event.delta.startsWith("It is")) void kill();
  };
  page.addMessage({ id: "u1", role: "user", content: "Is there tea?" });
  await page.runAgent({}, { onEvent }).catch(() => undefined);
}

it.each(versions)(
  "an AG-UI %s client receives the whole run from another process after the first server is killed",
  async (version) => {
    const folder = mkdtempSync(join(tmpdir(), "ag-ui-"));
    const killed = await startChild(new URL("serve-child.ts", import.meta.url), folder, version);
    const threadId = "tea";
    const page = openAgent(version, { url: killed.url, threadId, fetch: fetchToEnd });
    await runUntilKilled(page, killed.kill);
    expect(textOf(page.messages)).toBe("One moment.It is ");

    const ran: string[] = [];
    const look = defineTool({
      name: "look",
      description: "Looks up",
      inputSchema: { type: "object" },
      execute: () => ran.push("look"),
    });
    const run = { provider: createMockProvider([text("It is in stock.")]), tools: [look] };
    const next = await serve({ run, version, store: fileConversationStore(folder) });
    try {
      const thread = (await (await fetch(`${next.url}?threadId=${threadId}`)).json()) as object;
      expect(JSON.stringify(thread)).toContain("Is there tea?");
      expect(await next.host.resume(threadId, run)).toMatchObject({ kind: "started", runId: "tea/1" });
      const sent = await readSent(await fetch(`${next.url}?runId=${encodeURIComponent("tea/1")}`));
      const user = page.messages.slice(0, 1);
      const messages = await readMessages(sent.map(({ event }) => event) as never, version, user);
      expect(textOf(messages)).toBe("One moment.It is in stock.");
      // Both servers create the same message ids, so the page shows no message twice.
      const ids = page.messages.map(({ id }) => id);
      expect(messages.map(({ id }) => id)).toEqual(ids);
      expect([[...resultsOf(messages).values()], ran]).toEqual([["found by the killed server"], []]);
      expect((await next.host.status(threadId))?.status).toBe("completed");
    } finally {
      await next.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
