// Resumes a run from a journal: in memory, and in a custom store.

import assert from "node:assert/strict";
import {
  createLoopControl,
  createLoopEvents,
  defineTool,
  memoryJournal,
  runToolLoop,
  type Journal,
  type Message,
  type SavedJournal,
} from "turnwright";
import { createMockProvider, fail, journalSuite, text, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Order the book." }];
let orders = 0;
const tools = [
  defineTool({
    name: "order",
    description: "Orders a book",
    inputSchema: { type: "object" },
    execute: () => ({ order: ++orders }),
  }),
];

{
  const provider = createMockProvider([toolCall("order"), text("It is on its way.")]);
  // #region save
  let saved = "";
  const journal = memoryJournal();
  const events = createLoopEvents();
  const save = (): void => {
    saved = JSON.stringify(journal); // store it outside the process
  };
  events.on("iteration-end", save);
  events.on("run-end", save);
  await runToolLoop({ provider, tools, messages, journal, events, runId: "order-7" });
  // #endregion save
  assert.equal(orders, 1);
  const { steps }: SavedJournal = JSON.parse(saved);
  assert.deepEqual(Object.keys(steps), [
    "run",
    "begin",
    "i0/request/model",
    "i0/call/0/order/outcome",
    "i0/next",
    "i1/request/model",
    "i1/answered",
  ]);

  // A journal cannot be used with messages that differ from the recorded ones.
  const other: Message = { role: "user", content: "Where is it?" };
  const mixed = runToolLoop({ provider, tools, messages: [...messages, other], journal, runId: "order-7" });
  await assert.rejects(mixed, { code: "journal-mismatch" });
  assert.deepEqual([provider.calls, orders], [2, 1]);
}

{
  const first = memoryJournal();
  const lost = createMockProvider([toolCall("order")]);
  let saved = "";
  const events = createLoopEvents();
  events.once("iteration-end", () => {
    saved = JSON.stringify(first);
  });
  await runToolLoop({ provider: lost, tools, messages, journal: first, events, runId: "order-8" });
  assert.equal(orders, 2);

  const provider = createMockProvider([text("It is on its way.")]);
  // #region resume
  const recorded: SavedJournal = JSON.parse(saved);
  const result = await runToolLoop({
    provider,
    tools,
    messages, // the same as in the first call
    journal: memoryJournal(recorded),
    runId: "order-8",
  });
  // The tool did not run again. The resumed run sent only one request.
  // #endregion resume
  assert.equal(orders, 2);
  assert.equal(provider.calls, 1);
  assert.equal(result.text, "It is on its way.");
  assert.equal(result.iterations, 2);
}

{
  // During "tool-start" and "tool-end", the journal already contains the response with the call, but not the result of the call.
  const journal = memoryJournal();
  const events = createLoopEvents();
  const atStart: string[] = [];
  const atEnd: string[] = [];
  events.on("tool-start", () => void atStart.push(...journal.keys()));
  events.on("tool-end", () => void atEnd.push(...journal.keys()));
  await runToolLoop({ provider: createMockProvider([toolCall("order"), text("Done.")]), tools, messages, journal, events });
  assert.deepEqual(
    [atStart, atEnd],
    [
      ["run", "begin", "i0/request/model"],
      ["run", "begin", "i0/request/model", "i0/call/0/order/outcome"],
    ],
  );
  assert.equal(orders, 3);
}

{
  const options = { tools, messages, runId: "order-10" };
  const busy = createMockProvider([toolCall("order"), fail({ status: 503, message: "busy" })]);
  const failed = await runToolLoop({ ...options, provider: busy });
  assert.equal(failed.reason.kind, "provider-error");
  assert.equal(orders, 4);

  const provider = createMockProvider([text("It is on its way.")]);
  // #region retry
  const again = await runToolLoop({ ...options, provider, journal: failed.journal, resume: "retry-last" });
  // #endregion retry
  assert.equal(again.text, "It is on its way.");
  assert.deepEqual([orders, provider.calls, again.iterations], [4, 1, 2]);
}

{
  // `saved` is a copy of the journal at the end of the first iteration. The copy lacks the step "i0/answered", which is
  // recorded later.
  const journal = memoryJournal();
  const events = createLoopEvents();
  let saved = "";
  events.on("iteration-end", () => void (saved = JSON.stringify(journal)));
  const busy = createMockProvider([fail({ status: 503, message: "busy" })]);
  await runToolLoop({ provider: busy, tools, messages, journal, events, runId: "order-11" });
  const recorded: SavedJournal = JSON.parse(saved);
  assert.deepEqual(Object.keys(recorded.steps), ["run", "begin", "i0/request/model"]);
  const provider = createMockProvider([text("Ordered.")]);
  const options = { provider, tools, messages, journal: memoryJournal(recorded), runId: "order-11" };
  const again = await runToolLoop({ ...options, resume: "retry-last" });
  assert.deepEqual([again.text, provider.calls], ["Ordered.", 1]);
}

/** Any store that maps keys to strings. */
interface Store {
  get(key: string): Promise<string | undefined>;
  /** If the key already has a value, keeps that value. */
  add(key: string, value: string): Promise<void>;
}

// #region journal
function storeJournal(store: Store): Journal {
  const read = async (key: string): Promise<unknown> => {
    const recorded = await store.get(key);
    return recorded === undefined ? undefined : JSON.parse(recorded);
  };
  return {
    durable: true,
    read,
    async step<T>(key: string, body: () => T | PromiseLike<T>): Promise<T> {
      const recorded = await read(key);
      if (recorded !== undefined) return recorded as T;
      const result = await body();
      await store.add(key, JSON.stringify(result)); // before the next step begins
      return result;
    },
  };
}
// #endregion journal

{
  const stores = new Map<string, Store>();
  const storeOf = (runId: string): Store => {
    const store = stores.get(runId) ?? createStore();
    stores.set(runId, store);
    return store;
  };
  // #region suite
  const checks = journalSuite({ execute: (runId, body) => body(storeJournal(storeOf(runId))) });
  for (const { run } of checks) await run(); // rejects with an Error that describes the fault of the journal
  // #endregion suite
  assert.equal(checks.length, 14);
}

const crash = new Error("The machine went down.");

/** Fails once, when the step `crashAt` is stored. */
function createStore(crashAt?: string): Store & { readonly kept: ReadonlyMap<string, string> } {
  const kept = new Map<string, string>();
  let crashed = false;
  return {
    kept,
    get: async (key) => kept.get(key),
    add: async (key, value) => {
      if (key === crashAt && !crashed) {
        crashed = true;
        throw crash;
      }
      if (!kept.has(key)) kept.set(key, value);
    },
  };
}

orders = 0;
{
  const store = createStore("i0/call/0/order/outcome");
  const options = { tools, messages, runId: "order-9" };
  const first = runToolLoop({ ...options, provider: createMockProvider([toolCall("order")]), journal: storeJournal(store) });
  await assert.rejects(first, crash);
  assert.deepEqual([...store.kept.keys()], ["run", "begin", "i0/request/model", "i0/call/0/order/begun"]);

  const provider = createMockProvider([text("I am not sure whether it was ordered.")]);
  const again = await runToolLoop({ ...options, provider, journal: storeJournal(store) });
  assert.equal(orders, 1);
  assert.deepEqual(again.messages[2], {
    role: "tool",
    results: [
      {
        callId: "call_i0_0",
        name: "order",
        outcome: "interrupted",
        result: { status: "interrupted", reason: "the call was cut off before it ended, so it may have run", tool_name: "order" },
      },
    ],
  });
  const others = runToolLoop({
    ...options,
    messages: [{ role: "user", content: "Else." }],
    provider,
    journal: storeJournal(store),
  });
  await assert.rejects(others, { code: "journal-mismatch" });
  // The calls of the removed tool have ended.
  const deployed = await runToolLoop({ ...options, tools: [], provider, journal: storeJournal(store) });
  assert.equal(deployed.text, again.text);
}

{
  const provider = createMockProvider([toolCall("wait"), text("It is on its way.")]);
  const wait = defineTool({
    name: "wait",
    description: "Waits",
    inputSchema: { type: "object" },
    execute: () => new Promise((resolve) => void setTimeout(resolve, 5, "Done.")),
  });
  const tools = [wait];
  const journals = new Map([["order-9", memoryJournal()]]);
  const store = { journal: (runId: string) => journals.get(runId) };
  async function goOn(runId: string, leftMs: number): Promise<"ended" | "again"> {
    const control = createLoopControl();
    const timer = setTimeout(() => control.drain(), leftMs - 10_000); // time for the iteration that is running
    const { reason } = await runToolLoop({ provider, tools, messages, runId, journal: store.journal(runId), control });
    clearTimeout(timer);
    return reason.kind === "drained" ? "again" : "ended"; // "again": the next request calls it once more
  }
  assert.deepEqual([await goOn("order-9", 10_000), await goOn("order-9", 60_000)], ["again", "ended"]);
}
