// Messages that reach a run too late: none is lost or doubled, and the page can find them again.

import { expect, it } from "vitest";
import type { Message, UserMessage } from "turnwright";
import type { ConversationStore } from "turnwright/conversation";
import { createRunHost, type RunHost } from "turnwright/host";
import { createMockProvider, createTestClock, type MockMessage, stall, text, toolCall } from "turnwright/testing";
import { createStage, cutOff, readStart, sharedStore, tool } from "./stage.ts";

const said = (id: string): UserMessage => ({ role: "user", content: `Message ${id}`, id });

const idsOf = (messages: readonly Message[] = []): readonly unknown[] =>
  messages.map((message) => (message.role === "user" ? message.id : message.role));

/** The first request calls "look", which works until `open` is called. Each later request is answered. */
function working(first: MockMessage = toolCall("look")) {
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const provider = createMockProvider((_request, index) => (index === 0 ? first : text(`Answer ${index}`)));
  const look = tool("look", (_args, { signal }) =>
    Promise.race([gate, new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))]),
  );
  return { run: { provider, tools: [look] }, open };
}

let chats = 0;

interface Late {
  readonly id: string;
  readonly store: ConversationStore;
  readonly host: RunHost;
  readonly run: ReturnType<typeof working>["run"];
}

/** Starts a run with message "a", and steers message "b" to it. `end` ends the run before it reads "b". */
async function steerLate(end: (host: RunHost, id: string) => unknown, first?: MockMessage): Promise<Late> {
  const store = sharedStore();
  const clock = createTestClock();
  const host = createRunHost({ store, clock, whenBusy: "steer" });
  const id = `late ${(chats += 1)}`;
  const { run, open } = working(first);
  const started = await host.start(id, { ...run, message: said("a") });
  await clock.flush();
  expect((await host.start(id, { ...run, message: said("b") })).kind).toBe("steered");
  const ended = end(host, id);
  open();
  await Promise.all([ended, readStart(started)]);
  return { id, store, host, run };
}

it.each(["resume", "start"] as const)("host.%s() after host.close() delivers a previously steered message once", async (next) => {
  const { id, store, run } = await steerLate((host) => host.close());
  const host = createRunHost({ store });
  const answer = await (next === "resume" ? host.resume(id, run) : host.start(id, { ...run, message: said("c") }));
  if (answer.kind === "started") await answer.result;
  const begin = ["a", "assistant", "tool", "b"];
  expect(idsOf((await host.status(id))?.messages)).toEqual([...begin, ...(next === "start" ? ["c"] : []), "assistant"]);
  expect((await store.load(id))?.state.undelivered).toEqual([]);
});

it("host.resume() for a run that was interrupted after it was drained delivers a steered message once", async () => {
  const { id, store, run } = await steerLate((host) => host.close());
  await cutOff(store, id);
  const host = createRunHost({ store });
  const answer = await host.resume(id, run);
  if (answer.kind === "started") await answer.result;
  expect(idsOf((await host.status(id))?.messages)).toEqual(["a", "assistant", "tool", "b", "assistant"]);
});

const stopped = (first?: MockMessage): Promise<Late> => steerLate((host, id) => host.stop(id), first);

it.each<[title: string, go: (late: Late) => Promise<unknown>]>([
  ["host.start() with the first message again", ({ host, id, run }) => host.start(id, { ...run, message: said("a") })],
  ['host.resume() with "retry-last"', ({ host, id, run }) => host.resume(id, { ...run, resume: "retry-last" })],
])("%s delivers a message that the stopped run did not receive", async (_title, go) => {
  const late = await stopped(stall());
  const answer = (await go(late)) as { readonly result?: Promise<unknown> };
  await answer.result;
  const { messages = [] } = (await late.host.status(late.id)) ?? {};
  expect(idsOf(messages).filter((one) => one === "b")).toEqual(["b"]);
  expect(messages.at(-1)?.role).toBe("assistant");
  expect((await late.store.load(late.id))?.state.undelivered).toEqual([]);
});

it("reading a finished run again does not duplicate a message", async () => {
  const late = await stopped();
  await cutOff(late.store, late.id);
  const answer = await late.host.resume(late.id, late.run);
  if (answer.kind === "started") await answer.result;
  expect(idsOf((await late.host.status(late.id))?.messages)).toEqual(["a", "assistant", "tool", "b"]);
});

it.each<[title: string, message: UserMessage & { again?: true; edited?: true }, content: string]>([
  ["sends it again", said("b"), "Message b"],
  ["asks for an answer to it", { ...said("b"), again: true }, "Message b"],
  ["edits it", { ...said("b"), content: "Better", edited: true }, "Better"],
])(
  "a message that a stopped run did not receive appears in host.status(), and is answered if the page %s",
  async (_title, message, content) => {
    const { host, id, run } = await stopped();
    expect(idsOf((await host.status(id))?.messages)).toEqual(["a", "assistant", "tool", "b"]);
    const result = await readStart(host.start(id, { ...run, message }));
    expect(result.status).toBe("completed");
    const { messages = [] } = (await host.status(id)) ?? {};
    expect(idsOf(messages)).toEqual(["a", "assistant", "tool", "b", "assistant"]);
    expect(messages[3]).toMatchObject({ content });
  },
);

it("a message that arrives while a finished run is read again begins the next run", async () => {
  const store = sharedStore();
  const { host, id, clock } = createStage({ store, whenBusy: "steer" });
  const run = { provider: createMockProvider(({ messages }) => text(`Answer ${messages.length}`)), clock };
  await readStart(host.start(id, { ...run, message: said("a") }));
  const again = host.start(id, { ...run, message: said("a") });
  const next = host.start(id, { ...run, message: said("b") });
  expect(await again).toMatchObject({ kind: "started", repeated: true });
  await readStart(next);
  expect(idsOf((await host.status(id))?.messages)).toEqual(["a", "assistant", "b", "assistant"]);
});

it("host.status() still shows the answer that preceded a steered message, even after the message is answered again", async () => {
  const { host, id, clock } = createStage({ whenBusy: "steer" });
  const { run, open } = working();
  const started = await host.start(id, { ...run, message: said("a") });
  await clock.flush();
  await host.start(id, { ...run, message: said("b") });
  open();
  await readStart(started);
  await readStart(host.start(id, { ...run, message: { ...said("b"), again: true } }));
  const { messages = [], turns = [] } = (await host.status(id)) ?? {};
  expect(idsOf(messages)).toEqual(["a", "assistant", "tool", "b", "assistant"]);
  expect(turns.map(({ from, to }) => [from, to])).toEqual([
    [1, 3],
    [4, 5],
  ]);
});
