// Random requests of several pages to one conversation, one after the other and at the same time.

import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isLoopError, runToolLoop } from "turnwright";
import { memoryConversationStore } from "turnwright/conversation";
import { createRunHost, type RunHost } from "turnwright/host";
import type { PageMessage } from "../../src/web/read-user-message.ts";
import { createMockProvider, fail, type MockScript, text, toolCall } from "turnwright/testing";
import { sharedStore, tool } from "./stage.ts";

const script: MockScript = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== "user") return text("Done.");
  const said = last.content as string;
  if (said.startsWith("pay")) return toolCall("pay", { said });
  return said.startsWith("fail") ? fail({ status: 401, message: "No key" }) : text(`About ${said}`);
};

const request = fc.record({
  kind: fc.constantFrom("new", "repeat", "edit", "again", "regenerate", "resume", "cancel", "stop", "remove", "status"),
  word: fc.constantFrom("say", "pay", "fail"),
  target: fc.nat({ max: 6 }),
  whenBusy: fc.constantFrom("refuse", "queue", "steer"),
  whenSuspended: fc.constantFrom("refuse", "deny"),
  isAwaited: fc.boolean(),
});
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

let conversations = 0;

async function play(requests: readonly Request[], isShared: boolean): Promise<void> {
  const id = `random-${(conversations += 1)}`;
  const host = createRunHost({ store: isShared ? sharedStore() : memoryConversationStore() });
  const paid: string[] = [];
  const pay = tool("pay", (args) => `paid ${paid.push((args as { said: string }).said)}`, { needsApproval: true });
  const run = { provider: createMockProvider(script), tools: [pay] };
  const sent: PageMessage[] = [];
  const send = (one: Request): Promise<unknown> => {
    const { kind, word, target, whenBusy, whenSuspended } = one;
    const how = { ...run, whenBusy, whenSuspended };
    const fresh: PageMessage = { role: "user", content: `${word} ${sent.length}`, id: `m${sent.length}` };
    const known = sent[target % Math.max(1, sent.length)];
    if (known === undefined || kind === "new") {
      sent.push(fresh);
      return host.start(id, { ...how, message: fresh });
    }
    const others: { readonly [Kind in Exclude<Request["kind"], "new">]: () => unknown } = {
      repeat: () => host.start(id, { ...how, message: known }),
      edit: () => host.start(id, { ...how, message: { ...known, content: `${word} edited`, edited: true } }),
      again: () => host.start(id, { ...how, message: { ...known, again: true } }),
      regenerate: () => host.start(id, { ...how, regenerate: true }),
      resume: async () => {
        const { reason } = (await host.status(id)) ?? {};
        const calls = reason !== undefined && "calls" in reason ? reason.calls : [];
        const answers = Object.fromEntries(calls.map((call) => [call.id, { kind: "approve" as const }]));
        return host.resume(id, { ...run, answers });
      },
      cancel: () => host.cancel(id),
      stop: () => host.stop(id),
      remove: () => host.remove(id),
      status: () => host.status(id),
    };
    // Another request may have removed the messages, or decided about the calls, in the meantime.
    return Promise.resolve(others[kind]()).catch((error: unknown) => isLoopError(error) || Promise.reject(error));
  };
  const all: Promise<unknown>[] = [];
  for (const one of requests) {
    const done = send(one);
    all.push(done);
    if (one.isAwaited) await done;
  }
  await Promise.all(all);
  // Without a request for another answer, each message is paid at most once.
  const isOnce = requests.every(({ kind }) => !["edit", "again", "regenerate", "remove"].includes(kind));
  if (isOnce) expect(new Set(paid).size).toBe(paid.length);
  await check(host, id);
  await host.close();
}

async function check(host: RunHost, id: string): Promise<void> {
  while ((await host.status(id))?.isLive === true) await setImmediate();
  const { messages = [], turns = [], status } = (await host.status(id)) ?? {};
  const ids = messages.flatMap((message) => (message.role === "user" ? [message.id] : []));
  expect(new Set(ids).size).toBe(ids.length);
  expect(turns.every(({ from, to }) => from <= to && to <= messages.length)).toBe(true);
  if (messages.length === 0 || status === "suspended") return;
  // The transcript can be sent.
  const next = [...messages, { role: "user" as const, content: "say this" }];
  expect((await runToolLoop({ provider: createMockProvider(script), messages: next })).status).toBe("completed");
}

it.each([false, true])(
  "a run host answers random requests, and keeps a valid transcript (shared store: %s)",
  async (isShared) => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 14 }), (requests) => play(requests, isShared)),
      { numRuns: 120 },
    );
  },
);
