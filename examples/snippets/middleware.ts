// Middleware of your own: around calls and requests, with steps, waits and endings. See docs/guides/writing-middleware.md.

import assert from "node:assert/strict";
import { z } from "zod";
import { defineTool, memoryJournal, type Message, type Middleware, runToolLoop } from "turnwright";
import { denyCall } from "turnwright/kit";
import { createMockProvider, expectReplays, text, toolCall } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Pay the bill." }];
const paid: number[] = [];
const pay = defineTool({
  name: "pay",
  description: "Pays an amount in USD",
  inputSchema: z.object({ amount: z.number() }),
  execute: ({ amount }) => void paid.push(amount),
});
const tools = [pay];
const createModel = () =>
  createMockProvider(({ messages: said }) => (said.length === 1 ? toolCall("pay", { amount: 90 }) : text("Done.")));

{
  const lines: string[] = [];
  const console = { log: (line: string) => void lines.push(line) };
  const provider = createModel();
  // #region first
  const checked: Middleware = {
    name: "checked",
    pure: true, // it records nothing, so it may come and go while a run is suspended
    async call(call, next) {
      const { amount } = call.args as { readonly amount: number }; // they fit the schema of the tool
      if (amount > 100) return denyCall(call, "Pay at most 100 USD. Ask the user to pay the rest.");
      const outcome = await next(call);
      console.log(`${call.name}: ${outcome.kind}`);
      return outcome;
    },
  };
  await runToolLoop({ provider, tools, messages, middleware: [checked] });
  // Writes "pay: completed".
  // #endregion first
  assert.deepEqual(lines, ["pay: completed"]);
  const greedy = createMockProvider([toolCall("pay", { amount: 900 }), text("I may not.")]);
  const refused = await runToolLoop({ provider: greedy, tools, messages, middleware: [checked] });
  assert.deepEqual([refused.functionHistory[0]?.outcome, lines.length], ["denied", 1]);
}

{
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  // #region watch
  const watched: Middleware = {
    name: "watched",
    pure: true,
    on(event) {
      const depth = event.path?.length ?? 0; // events of nested runs have the ids of the calls around them
      if (event.type === "tool-end") write(`${"  ".repeat(depth)}${event.name}: ${event.durationMs.toFixed(0)} ms`);
    },
    close: ({ failure }) => write(failure === undefined ? "ended" : "rejected"),
  };
  // #endregion watch
  await runToolLoop({ provider: createModel(), tools, messages, middleware: [watched] });
  assert.match(lines.join("\n"), /^pay: \d+ ms\nended$/);
}

// #region step
interface Counts {
  /** Counts a call once for each key, and returns the number of calls on this day. */
  add(day: string, key: string): Promise<number>;
}

function quota(counts: Counts, most: number): Middleware {
  return {
    name: "quota",
    async call(call, next, at) {
      const count = await at.step("count", () => counts.add(new Date().toISOString().slice(0, 10), at.idempotencyKey));
      if (count <= most) return next(call);
      return denyCall(call, `The limit of ${most} calls a day has been reached.`);
    },
  };
}
// #endregion step

{
  const keys = new Set<string>();
  const counts: Counts = {
    add(_day, key) {
      keys.add(key);
      return Promise.resolve(keys.size);
    },
  };
  // #region test
  await expectReplays((journal) =>
    runToolLoop({ provider: createModel(), tools, messages, middleware: [quota(counts, 1)], journal, runId: "test" }),
  );
  // #endregion test
  assert.equal(keys.size, 1);
  const second = await runToolLoop({ provider: createModel(), tools, messages, middleware: [quota(counts, 1)] });
  assert.equal(second.functionHistory[0]?.outcome, "denied");
}

{
  const requests: (readonly unknown[])[] = [];
  const send = (all: readonly unknown[]): Promise<readonly string[]> => {
    requests.push(all);
    return Promise.resolve(all.map(() => "paid"));
  };
  // #region together
  interface Part {
    readonly args: unknown;
    resolve(result: Promise<unknown>): void;
  }
  const batched: Middleware = {
    name: "batched",
    pure: true,
    begin: () => {
      const waiting = new Map<string, Part | undefined>(); // the calls that may run and are not sent
      const check = (): void => {
        const parts = [...waiting.values()].filter((part) => part !== undefined);
        if (parts.length === 0 || parts.length < waiting.size) return;
        waiting.clear();
        const results = send(parts.map(({ args }) => args)); // one request for the calls of the message
        for (const [index, { resolve }] of parts.entries()) resolve(results.then((all) => all[index]));
      };
      return {
        async execute(call, next) {
          const { callId } = call;
          const join = (): void => void waiting.set(callId, undefined);
          const run = (args: unknown): Promise<unknown> =>
            new Promise((resolve) => {
              waiting.set(callId, { args, resolve });
              check();
            });
          const outcome = await next({ ...call, together: { join, run } });
          if (waiting.delete(callId)) check(); // it was refused or cut off
          return outcome;
        },
      };
    },
  };
  // #endregion together
  const twice = createMockProvider([[toolCall("pay", { amount: 1 }), toolCall("pay", { amount: 2 })], text("Done.")]);
  const limits = { toolConcurrency: 1 };
  paid.length = 0;
  const result = await runToolLoop({ provider: twice, tools, messages, limits, middleware: [batched] });
  assert.deepEqual(requests, [[{ amount: 1 }, { amount: 2 }]]);
  assert.deepEqual([paid, result.calls.map((one) => one.result)], [[], ["paid", "paid"]]);
}

{
  let isDown = true;
  const isBlocked = async (_name: string): Promise<boolean> => {
    if (isDown) throw new Error("ECONNREFUSED");
    return false;
  };
  const blocked: Middleware = {
    name: "blocked",
    async call(call, next, at) {
      const isRefused = await at.step("blocked", () => isBlocked(call.name), { recordErrors: false });
      return isRefused ? denyCall(call, "Not today.") : next(call);
    },
  };
  const options = { provider: createModel(), tools, messages, middleware: [blocked], journal: memoryJournal(), runId: "down" };
  await assert.rejects(runToolLoop(options), /ECONNREFUSED/);
  isDown = false;
  assert.equal((await runToolLoop(options)).text, "Done.");
}

{
  paid.length = 0;
  const journal = memoryJournal();
  const provider = createModel();
  // #region wait
  const answer = z.object({ allowed: z.boolean() });
  const confirmed: Middleware = {
    name: "confirmed",
    async call(call, next, at) {
      if (call.name !== "pay") return next(call);
      const { allowed } = await at.wait("permission", { risk: "high" }, { schema: answer });
      return allowed ? next(call) : denyCall(call, "The user does not want to pay.");
    },
  };

  const options = { provider, tools, messages, middleware: [confirmed], journal, runId: "bill-7" };
  const first = await runToolLoop(options); // suspended: the call waits, and other calls go on
  if (first.reason.kind !== "result-required") throw new Error("No call waits.");
  const [waiting] = first.reason.calls;
  // Later, even in another process:
  const id = waiting?.id ?? "";
  const second = await runToolLoop({ ...options, answers: { [id]: { allowed: true } } });
  // #endregion wait
  assert.deepEqual([first.status, second.text, paid], ["suspended", "Done.", [90]]);
}

{
  const provider = createModel();
  // #region request
  const dated: Middleware = {
    name: "dated",
    async request(request, next, at) {
      const day = await at.step("day", () => new Date().toDateString());
      const failed = new Set(
        at.state.functionHistory.filter(({ outcome }) => outcome === "failed").map((one) => one.functionCall.name),
      );
      const shown = request.tools.filter(({ name }) => !failed.has(name)); // the model does not try a failed tool again
      return next({ ...request, tools: shown, system: `${request.system ?? ""} Today is ${day}.`.trim() });
    },
  };
  // #endregion request
  await runToolLoop({ provider, tools, messages, middleware: [dated] });
  assert.match(provider.requests[0]?.system ?? "", /^Today is \w+ \w+ \d+ \d+\.$/);
}

{
  const provider = createMockProvider([text("The moon makes the tides."), text("The moon makes the tides. Sources: none")]);
  // #region again
  const sourced: Middleware = {
    name: "sourced",
    beforeEnd: async (ending, { state }) =>
      ending.status === "completed" && !state.finalText.includes("Sources:")
        ? { again: [{ role: "user", content: 'End your answer with a line that begins with "Sources:".' }], isCounted: true }
        : undefined,
  };
  const result = await runToolLoop({ provider, messages, middleware: [sourced] });
  // `result.text` has a line with sources, after one more iteration.
  // #endregion again
  assert.deepEqual([result.iterations, result.text.includes("Sources:")], [2, true]);
}

{
  const provider = createMockProvider(() => toolCall("pay", { amount: 90 }));
  paid.length = 0;
  // #region ends
  const once = {
    name: "once",
    ends: ({ lastBatch }) =>
      lastBatch.some(({ call, outcome }) => call.name === "pay" && outcome.kind === "completed")
        ? { status: "completed", reason: { kind: "stop-condition", reason: "paid" } }
        : undefined,
    result: () => ({ receipts: paid.length }),
  } satisfies Middleware;
  const result = await runToolLoop({ provider, tools, messages, middleware: [once] });
  // `result.reason` is { kind: "stop-condition", reason: "paid" }, and `result.receipts` is a number.
  // #endregion ends
  assert.deepEqual(result.reason, { kind: "stop-condition", reason: "paid" });
  assert.equal(result.receipts, 1);
}
