import { afterEach, expect, it } from "vitest";
import type { AGUIVersion } from "../../src/ag-ui/ag-ui-event.ts";
import { ids, setUpPermission } from "../ui-message-stream/permission.ts";
import { openAgent, readMessages, versions } from "./clients.ts";
import { type PageServer, readSent, serve } from "./page-server.ts";

const servers: PageServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function open(version: AGUIVersion) {
  const { ran, run } = setUpPermission(true);
  const server = await serve({ run, version });
  servers.push(server);
  const page = openAgent(version, { url: server.url, threadId: "p" });
  page.addMessage({ id: "u", role: "user", content: "Pay." });
  await page.runAgent();
  const resume = (interruptId: string, payload: object, status = "resolved") =>
    fetch(server.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ threadId: "p", runId: "r", messages: [], resume: [{ interruptId, status, payload }] }),
    });
  const waiting = async (): Promise<unknown> => {
    const { reason } = (await server.host.status("p")) ?? {};
    return reason !== undefined && "calls" in reason ? reason.calls.map(({ id, what }) => [id, what]) : reason?.kind;
  };
  return { ran, server, page, resume, waiting };
}

it.each(versions)("an AG-UI %s client receives a custom wait as an interrupt and answers it", async (version) => {
  const { ran, server, page, resume, waiting } = await open(version);
  const id = page.pendingInterrupts[0]?.id ?? "";
  expect(page.pendingInterrupts).toMatchObject([
    {
      id: "p/1:call_i0_0",
      toolCallId: "p/1:call_i0_0",
      reason: "input_required",
      message: '"pay" is waiting for "permission".',
      responseSchema: { properties: { result: { required: ["kind", "amount"] } }, required: ["result"] },
      metadata: { kind: "answer", toolName: "pay", what: "permission", facts: { risk: "high" } },
    },
  ]);
  for (const result of [{ kind: "approve" }, { kind: "approve", amount: 101 }]) {
    await (await resume(id, { result })).text();
    expect(await waiting()).toEqual([[ids.permission, "permission"]]);
  }
  const payload = { result: { kind: "approve", amount: 7 } };
  await page.runAgent({ resume: [{ interruptId: id, status: "resolved", payload }] });
  expect(page.pendingInterrupts).toMatchObject([{ reason: "external_result", message: '"pay" is waiting for "booking".' }]);
  expect(JSON.stringify(page.pendingInterrupts)).not.toContain("s3");
  for (const forged of [{ result: { kind: "approve" } }, { approved: true }])
    await (await resume(`p/1:${ids.webhook}`, forged)).text();
  expect([ran, await waiting()]).toEqual([[], [[ids.webhook, "booking"]]]);

  await server.deliver("p", { [ids.webhook]: { kind: "booked" } });
  const [model] = await reloadedInterrupts(server);
  expect(model).toMatchObject({
    reason: "input_required",
    message: 'The run is waiting for "model".',
    metadata: { facts: { tokens: 9 } },
  });
  expect(model).not.toHaveProperty("toolCallId");
  const rest = await readSent(await resume("p/1:i1/request", { result: "large" }));
  expect(ran).toEqual([[{ kind: "approve", amount: 7 }, { kind: "booked" }], "large"]);
  const messages = await readMessages(rest.map(({ event }) => event) as never, version, page.messages);
  expect(messages.at(-1)).toMatchObject({ role: "assistant", content: "It is paid." });
  expect(await waiting()).toBe("answered");
});

/** Loads the run as a page that was reloaded. */
async function reloadedInterrupts({ url }: PageServer): Promise<readonly object[]> {
  const end = (await readSent(await fetch(`${url}?runId=p%2F1`))).at(-1)?.event;
  return (end?.["outcome"] as { readonly interrupts?: readonly object[] } | undefined)?.interrupts ?? [];
}
