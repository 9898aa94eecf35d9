// Waits of middleware whose call or iteration has ended in an earlier execution.

import { expect, it } from "vitest";
import { createLoopControl, defineTool, type LoopResult, memoryJournal, type Middleware, runToolLoop } from "turnwright";
import { createMockProvider, recordEvents, text, toolCall } from "turnwright/testing";

const messages = [{ role: "user", content: "Go." }] as const;

type CallAt = Parameters<NonNullable<Middleware["call"]>>[2];

function createProgram(traits: object = {}) {
  const paid: number[] = [];
  const pay = defineTool({ name: "pay", description: "Pays", inputSchema: {}, ...traits, execute: () => paid.push(1) });
  const provider = createMockProvider(({ messages: said }) => (said.length === 1 ? [toolCall("pay", {})] : text("Done.")));
  const journal = memoryJournal();
  const run = (more: object = {}): Promise<LoopResult> =>
    runToolLoop({ provider, tools: [pay], messages, journal, runId: "r", ...more });
  return { run, paid, journal };
}

let asks = true;

it.for<[what: string, mayAsk: (at: CallAt) => boolean, traits: object]>([
  ["because it checks at.earlier.isOver", (at) => at.earlier?.isOver !== true, {}],
  ["because it checks at.earlier.isOver, with a durable tool", (at) => at.earlier?.isOver !== true, { durable: true }],
  ["because it no longer waits", () => asks, {}],
])(
  "a call whose run was stopped during the call's wait never runs, even if middleware later calls next(): %s",
  async ([, mayAsk, traits]) => {
    asks = true;
    const own: Middleware = {
      name: "own",
      call: async (call, next, at) => {
        if (mayAsk(at)) await at.wait("permission", {});
        return next(call);
      },
    };
    const { run, paid, journal } = createProgram(traits);
    const middleware = [own];
    expect((await run({ middleware })).status).toBe("suspended");
    const control = createLoopControl();
    const told = recordEvents();
    const running = run({ middleware, control, events: told.emitter });
    control.stop();
    const stopped = await running;
    expect([stopped.reason.kind, journal.keys().at(-1)]).toEqual(["stopped", "i0/next"]);
    asks = false;
    const before = [...journal.keys()];
    const replayed = recordEvents();
    const again = await run({ middleware, events: replayed.emitter });
    expect([paid, journal.keys(), again.reason, again.messages]).toEqual([[], before, stopped.reason, stopped.messages]);
    const outcomes = (of: typeof told.of): unknown => of("tool-end").map(({ outcome }) => outcome);
    expect([outcomes(told.of), outcomes(replayed.of)]).toEqual([["not-run"], ["not-run"]]);
  },
);

it.for<[where: string, own: Omit<Middleware, "name">, more: object]>([
  ["request", { request: async (request, next, at) => (await ask(at, at.state.iteration === 1), next(request)) }, {}],
  ["afterCalls", { afterCalls: async (_, at) => ask(at, true) }, {}],
  ["beforeEnd", { beforeEnd: async (_, at) => ask(at, true) }, {}],
  ["beforeEnd at a limit", { beforeEnd: async (_, at) => ask(at, true) }, { limits: { maxIterations: 1 } }],
])("a middleware wait that begins after the iteration's calls accepts an answer: %s", async ([, own, more]) => {
  const { run } = createProgram();
  const middleware: Middleware[] = [{ name: "own", ...own }];
  const first = await run({ middleware, ...more });
  if (!("calls" in first.reason)) throw new Error("Nothing waits.");
  const [waiting] = first.reason.calls;
  const { reason } = await run({ middleware, ...more, answers: { [waiting?.id ?? ""]: "yes" } });
  expect(reason.kind).toBe("limits" in more ? "max-iterations" : "answered");
});

async function ask(at: Pick<CallAt, "wait">, isAsked: boolean): Promise<undefined> {
  if (isAsked) await at.wait("permission", {});
  return undefined;
}
