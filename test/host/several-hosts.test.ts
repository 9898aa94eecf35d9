// Two hosts use one store, like two processes.

import { expect, it } from "vitest";
import type { Message } from "turnwright";
import type { ConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import type { RunHostOptions } from "../../src/host/run-host.ts";
import { createMockProvider, createTestClock, stall, text, toolCall } from "turnwright/testing";
import { readStart, sharedStore, tool, watchAppend } from "./stage.ts";

interface Locks {
  /** The open journals. */
  readonly held: Set<string>;
  /** Called before each change is stored. */
  beforeAppend?: ((status: string | undefined) => Promise<void> | void) | undefined;
  /** Called before each lock. */
  beforeLock?: (() => Promise<void> | void) | undefined;
  /** Called before each journal opens. */
  beforeOpen?: (() => Promise<void> | void) | undefined;
}

function lockingStore(locks: Locks): ConversationStore {
  const store = sharedStore();
  const watched = watchAppend(store, (status) => locks.beforeAppend?.(status));
  return {
    ...watched,
    lock: async (id) => {
      await locks.beforeLock?.();
      return watched.lock(id);
    },
    journal: (runId) => ({
      ...store.journal(runId),
      open: async (how) => {
        if (how?.readOnly === true) return async () => {};
        await locks.beforeOpen?.();
        locks.held.add(runId);
        return async () => void locks.held.delete(runId);
      },
    }),
  };
}

const pay = tool("pay", () => "paid", { needsApproval: true });
const provider = createMockProvider(({ messages }) => {
  const last = messages.at(-1);
  return last?.role === "user" && last.content === "Pay." ? toolCall("pay") : text("Yes.");
});
const run = { provider, tools: [pay] };
const approve = { call_i0_0: { kind: "approve" } } as const;
let chats = 0;

function openTwo(options: RunHostOptions = {}) {
  const locks: Locks = { held: new Set() };
  const store = lockingStore(locks);
  const clock = createTestClock();
  const open = () => createRunHost({ store, clock, ...options });
  return { id: `two ${(chats += 1)}`, locks, store, clock, one: open(), other: open() };
}

const usersOf = (messages: readonly Message[] = []): readonly unknown[] =>
  messages.flatMap((message) => (message.role === "user" ? [message.content] : []));

/** Blocks each call after `skip` calls, until `open` is called. */
function createGate(skip = 0) {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  let count = 0;
  return { open: () => open(), pass: () => ((count += 1) > skip ? opened : undefined), count: () => count };
}

it("host.start() does not begin a run before another process has stored the ending of the last one", async () => {
  const { id, one, other, locks, clock } = openTwo();
  const gate = createGate();
  locks.beforeAppend = (status) => (status === "completed" ? gate.pass() : undefined);
  const first = await one.start(id, { ...run, message: "One" });
  while (gate.count() === 0) await clock.flush();
  expect((await other.start(id, { ...run, message: "Two" })).kind).toBe("busy");
  locks.beforeAppend = undefined;
  gate.open();
  await readStart(first);
  await readStart(other.start(id, { ...run, message: "Two" }));
  expect(usersOf((await one.status(id))?.messages)).toEqual(["One", "Two"]);
  expect(locks.held.size).toBe(0);
});

it("only one of two processes continues a conversation with waiting calls", async () => {
  const { id, one, other, locks, clock } = openTwo({ whenSuspended: "deny" });
  await readStart(one.start(id, { ...run, message: "Pay." }));
  const gate = createGate();
  locks.beforeAppend = gate.pass;
  const resumed = one.resume(id, { ...run, answers: approve });
  while (gate.count() === 0) await clock.flush();
  const second = other.start(id, { ...run, message: "Never mind." });
  await clock.flush();
  gate.open();
  expect((await second).kind).toBe("busy");
  const answer = await resumed;
  expect(answer.kind === "started" && (await answer.result).status).toBe("completed");
  expect(usersOf((await one.status(id))?.messages)).toEqual(["Pay."]);
});

it("host.cancel() does not undo a run that another process has begun in the meantime", async () => {
  const { id, one, other, locks, clock } = openTwo({ whenSuspended: "deny" });
  await readStart(one.start(id, { ...run, message: "Pay." }));
  const gate = createGate();
  locks.beforeLock = gate.pass;
  const cancelled = other.cancel(id);
  while (gate.count() === 0) await clock.flush();
  locks.beforeLock = undefined;
  await readStart(one.start(id, { ...run, message: "Never mind." }));
  gate.open();
  expect(await cancelled).toBe("not-suspended");
  expect(usersOf((await one.status(id))?.messages)).toEqual(["Pay.", "Never mind."]);
});

it('a start that waits with whenSuspended: "queue" begins after another process has resumed the run', async () => {
  const { id, one, other, clock } = openTwo({ whenSuspended: "queue", whenBusy: "queue" });
  await readStart(one.start(id, { ...run, message: "Pay." }));
  const second = one.start(id, { ...run, message: "And now?" });
  await clock.flush();
  expect((await one.status(id))?.queued).toBe(1);
  await clock.advance(20_000);
  expect((await one.status(id))?.queued).toBe(1);
  const answer = await other.resume(id, { ...run, answers: approve });
  if (answer.kind === "started") await answer.result;
  await clock.advance(5_000);
  await readStart(second);
  expect(usersOf((await one.status(id))?.messages)).toEqual(["Pay.", "And now?"]);
  await Promise.all([one.close(), other.close()]);
  expect(clock.pending).toBe(0);
});

it("host.join() does not return an outdated run once host.status() has read that another process continued it", async () => {
  const { id, one, other } = openTwo();
  await readStart(one.start(id, { ...run, message: "Pay." }));
  await one.status(id);
  expect(one.join(id)?.runId).toBe(`${id}/1`);
  const resumed = await other.resume(id, { ...run, answers: approve });
  expect(resumed.kind === "started" && (await resumed.result).status).toBe("completed");
  expect((await one.status(id))?.status).toBe("completed");
  expect(one.join(id)).toBeUndefined();
  expect(await one.resume(id, run)).toEqual({ kind: "not-resumable", status: "completed" });
  expect(other.join(id)?.runId).toBe(`${id}/1`);
  await readStart(one.start(id, { ...run, message: "And now?" }));
  await one.status(id);
  await other.status(id);
  expect([one.join(id)?.runId, other.join(id)?.runId]).toEqual([`${id}/2`, undefined]);
  await Promise.all([one.close(), other.close()]);
});

it("host.close() ends a start that waits for decisions, and releases its timer", async () => {
  const { id, one, clock } = openTwo({ whenSuspended: "queue" });
  await readStart(one.start(id, { ...run, message: "Pay." }));
  const second = one.start(id, { ...run, message: "And now?" });
  await clock.flush();
  await one.close();
  expect([(await second).kind, clock.pending]).toEqual(["closed", 0]);
});

it("a journal that opens after its run was stopped does not stay locked", async () => {
  const { id, one, locks, clock } = openTwo();
  const gate = createGate();
  locks.beforeOpen = gate.pass;
  const first = one.start(id, { provider: createMockProvider([stall()]), clock, message: "One" }).catch(() => undefined);
  while (gate.count() === 0) await clock.flush();
  one.stop(id);
  await clock.advance(600_000);
  await first;
  locks.beforeOpen = undefined;
  gate.open();
  await clock.flush();
  expect(locks.held.size).toBe(0);
  const second = await readStart(one.start(id, { ...run, message: "Two" }));
  expect(second.status).toBe("completed");
});
