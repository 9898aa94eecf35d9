import { expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  contextRestarts,
  deferTools,
  eagerTools,
  detectLoops,
  finalAnswer,
  limitIdenticalCalls,
  gateTools,
  maskResults,
  type Middleware,
  onIteration,
  prepareIteration,
  preToolText,
  processResults,
  runToolLoop,
  stopWhen,
  structuredOutput,
  truncateResults,
} from "turnwright";
import { compactMessages, guardrails, createHandoffs, watchPromptCache } from "turnwright/middleware";
import { createMockProvider, text } from "turnwright/testing";
import { readNames, readPage, readRows, readSection } from "../docs/read-page.ts";

const made = {
  onIteration: () => onIteration(() => undefined),
  maskResults: () => maskResults(),
  createHandoffs: () => createHandoffs({ start: "desk", agents: { desk: { description: "Answers.", system: "Answer." } } }),
  compactMessages: () => compactMessages({ contextWindow: 100_000 }),
  contextRestarts: () => contextRestarts(),
  prepareIteration: () => prepareIteration(() => undefined),
  eagerTools: () => eagerTools(),
  deferTools: () => deferTools(),
  structuredOutput: () => structuredOutput(z.object({ said: z.string() })),
  detectLoops: () => detectLoops(),
  limitIdenticalCalls: () => limitIdenticalCalls(),
  stopWhen: () => stopWhen(() => false),
  finalAnswer: () => finalAnswer(),
  preToolText: () => preToolText(),
  guardrails: () => guardrails({ input: [{ name: "any", check: () => ({ kind: "pass" }) }] }),
  watchPromptCache: () => watchPromptCache(),
  gateTools: () => gateTools({ active: true, allowedNames: [] }),
  processResults: () => processResults({ processor: () => "Done." }),
  truncateResults: () => truncateResults({ maxTokens: 1_000 }),
  approve: () => approve(),
} satisfies { readonly [name: string]: () => Middleware };

const listed = readRows(readSection(readPage("docs/options.md"), "Middleware")).flatMap(([names = ""]) => readNames(names));

async function run(middleware: readonly Middleware[]): Promise<string> {
  const provider = createMockProvider([text('{"said":"Hi."}')]);
  const { status } = await runToolLoop({ provider, messages: [{ role: "user", content: "Go." }], middleware });
  return status;
}

it("docs/options.md: lists all middleware, in an order that a run accepts", async () => {
  expect(Object.keys(made)).toEqual(listed);
  await expect(run(Object.values(made).map((make) => make()))).resolves.toBe("completed");
});

it.for([
  ["compactMessages", "createHandoffs"],
  ["contextRestarts", "createHandoffs"],
  ["contextRestarts", "compactMessages"],
  ["prepareIteration", "createHandoffs"],
  ["deferTools", "createHandoffs"],
  ["deferTools", "contextRestarts"],
  ["deferTools", "prepareIteration"],
  ["approve", "guardrails"],
] as const)("runToolLoop: refuses the middleware %s before %s", async ([first, second]) => {
  const wrong = run([made[first](), made.onIteration(), made[second]()]);
  await expect(wrong).rejects.toMatchObject({ code: "invalid-option", details: { option: "middleware" } });
  await expect(run([made[second](), made.onIteration(), made[first]()])).resolves.toBe("completed");
});
