import { expect, it } from "vitest";
import { z } from "zod";
import { defineTool, type Journal, type LoopResult, type Middleware, runToolLoop } from "turnwright";
import { createMockProvider, expectReplays, text, toolCall } from "turnwright/testing";
import { createProgram, createRandom } from "../core/random-program.ts";

let count = 0;

const search = defineTool({ name: "search", description: "Searches.", inputSchema: z.object({}), execute: () => ({ found: 1 }) });

const charge = defineTool({
  name: "charge",
  description: "Charges.",
  inputSchema: z.object({}),
  durable: true,
  execute: (_args, { step }) => step(`charge ${(count += 1)}`, () => "paid"),
});

const stamped: Middleware = {
  name: "stamped",
  async call(call, next, at) {
    await at.step(`begin at ${(count += 1)}`, () => 1);
    return next(call);
  },
};

const sampled: Middleware = {
  name: "sampled",
  async request(request, next, at) {
    if ((count += 1) < 3) await at.step("sample", () => 1);
    return next(request);
  },
};

const unequal: Middleware = {
  name: "unequal",
  pure: true,
  call: async (call, next) => ({ ...(await next(call)), textForModel: `Result ${(count += 1)}` }),
};

const good: Middleware = {
  name: "good",
  async call(call, next, at) {
    await at.step("begin", () => (count += 1));
    return next(call);
  },
};

function runWith(name: string, middleware: readonly Middleware[] = []): (journal: Journal) => Promise<LoopResult> {
  return (journal) => {
    const provider = createMockProvider([toolCall(name), text("Done.")]);
    const messages = [{ role: "user", content: "Go." }] as const;
    return runToolLoop({ provider, tools: [search, charge], messages, middleware, journal, runId: "test" });
  };
}

it.for<readonly [what: string, run: (journal: Journal) => Promise<LoopResult>, said: readonly string[]]>([
  [
    "a step with a different name",
    runWith("search", [stamped]),
    ['The middleware "stamped" at i0/call/0/search takes the new step "begin at 2".'],
  ],
  [
    "a step that is left out",
    runWith("search", [sampled]),
    ['The middleware "sampled" at i0/request leaves out the step "sample".'],
  ],
  ["a durable tool", runWith("charge"), ['The tool at i0/call/0/charge leaves out the step "charge 1".']],
  ["different text for the model", runWith("search", [unequal]), ["Message 2 of the result", "Result 1", "Result 2"]],
  [
    "a run without the journal",
    () => runWith("search")({ step: (_key, body) => body(), read: () => undefined }),
    ["recorded nothing"],
  ],
])("expectReplays: names %s", async ([, run, said]) => {
  count = 0;
  const error: unknown = await expectReplays(run).catch((thrown: unknown) => thrown);
  for (const part of said) expect(String(error)).toContain(part);
});

it("expectReplays: returns the result of a run whose replay is the same", async () => {
  count = 0;
  const result = await expectReplays(runWith("search", [good]));
  expect([result.text, count]).toEqual(["Done.", 1]);
});

it("expectReplays: passes on a failed run's error", async () => {
  await expect(expectReplays(() => Promise.reject(new Error("No network.")))).rejects.toThrow("No network.");
});

it("expectReplays: accepts random programs with waits, nested runs and middleware", async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const program = createProgram(seed);
    await expectReplays((journal) => program.finish(journal, createRandom(seed)));
  }
});
