import { describe, expect, it } from "vitest";
import { approve, contextRestarts, detectLoops, maskResults, structuredOutput, truncateResults } from "turnwright";
import { readRunLog } from "turnwright/inspect";
import { finish, reasoning, text, toolCall } from "turnwright/testing";
import { z } from "zod";
import { factsOf } from "./compare-logs.ts";
import { counted, type First, kinds, runFirst, runSecond } from "./rerun-runs.ts";

const strict = z.object({ n: z.number() });
const firsts: { readonly [what: string]: First } = {
  "of ordinary calls": {
    script: [
      [reasoning("Hm."), text("I look. "), toolCall("look", { n: 1 }), toolCall("look"), counted],
      toolCall("look"),
      text("Done."),
    ],
    from: 1,
  },
  "from its last iteration": { script: [toolCall("look"), toolCall("look"), [text("Done."), counted]], from: 2 },
  "with failed, unknown, malformed and invalid calls": {
    script: [
      [toolCall("broken"), toolCall("loook"), toolCall("look", {}, { rawArgs: "{" }), toolCall("look")],
      toolCall("look"),
      text("Done."),
    ],
    from: 1,
  },
  "with denied and edited calls": {
    script: [[toolCall("pay", { amount: 3 }), toolCall("look", { n: 1 })], text("Done.")],
    from: 1,
    options: {
      middleware: [
        approve(({ name }) => (name === "pay" ? { kind: "deny", reason: "Too much." } : { kind: "modify", args: { n: 2 } })),
      ],
    },
  },
  "with a continuation": {
    script: [[text("One, "), toolCall("look"), finish("paused")], [text("two."), toolCall("look", { n: 2 })], text("Done.")],
    from: 1,
  },
  "with nested runs": { script: [[toolCall("ask"), counted], toolCall("look"), text("Done.")], from: 2 },
  "with images in results": { script: [toolCall("picture"), text("Done.")], from: 1 },
  "with masked results": {
    script: [toolCall("long"), toolCall("long"), toolCall("long"), text("Done.")],
    from: 3,
    options: { middleware: [maskResults({ keepIterations: 1, minTokens: 0 })] },
  },
  "with shortened results": {
    script: [[toolCall("long"), toolCall("look")], toolCall("long"), text("Done.")],
    from: 2,
    options: { middleware: [truncateResults({ maxTokens: 50 })] },
  },
  "with an invalid answer": {
    script: [toolCall("look"), text('{"n":"x"}'), text('{"n":1}')],
    from: 2,
    options: { middleware: [structuredOutput(strict)] },
  },
  "with a warning about a loop": {
    script: [toolCall("look"), toolCall("look"), toolCall("look"), text("Done.")],
    from: 3,
    options: { middleware: [detectLoops({ threshold: 2, action: "inject-warning" })] },
  },
  "with a malformed call": { script: [[text("So: "), finish("malformed-call")], text("Done.")], from: 1 },
  "with context items": {
    script: [toolCall("look"), text("Done.")],
    from: 1,
    options: { middleware: [contextRestarts({ items: ["Berlin", "2026"] })] },
  },
};

const table = Object.entries(firsts).flatMap(([what, first]) => kinds.map((kind) => [what, kind, first] as const));

describe("rerunFrom", () => {
  it.for(table)("repeats a run %s without calling a tool (source: %s)", async ([, kind, { from, ...first }]) => {
    const files = await runFirst(first);
    const {
      provider,
      log,
      ran: again,
    } = await runSecond(files[kind], from, {
      system: "Be long.",
      ...(kind === "journal" && first.options),
      middleware: first.options?.middleware,
    });
    const before = (await readRunLog(files.log)).runs[0]?.iterations ?? [];
    const after = log.runs[0]?.iterations ?? [];
    const isPast = ({ iteration }: { readonly iteration: number }): boolean => iteration < from;
    expect(after.filter(isPast).map(factsOf)).toEqual(before.filter(isPast).map(factsOf));
    expect(again).toEqual([]);
    const request = before.find(({ iteration }) => iteration === from)?.request;
    expect(provider.requests[0]).toMatchObject({ iteration: from, system: expect.stringContaining("Be long.") });
    expect(provider.requests[0]?.messages).toEqual(request?.messages());
    expect(after.find((one) => one.iteration === from)).toMatchObject({
      iteration: from,
      model: "other-model",
      output: { text: "New." },
    });
  });
});
