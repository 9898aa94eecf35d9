import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  contextRestart,
  createLoopControl,
  defineAgentTool,
  defineTool,
  detectLoops,
  isLoopError,
  type LoopOptions,
  maskResults,
  runToolLoop,
  structuredOutput,
  toolResult,
  truncateResults,
} from "turnwright";
import { parseRunLog, readRunLog, type RerunOptions, rerunFrom, type RunLog, withRunLog } from "turnwright/inspect";
import { fileJournal } from "turnwright/journal";
import {
  createMockProvider,
  fail,
  finish,
  type MockMessage,
  type MockProvider,
  reasoning,
  text,
  toolCall,
  usage,
} from "turnwright/testing";
import type { ExecutableTool } from "turnwright/parts";
import { z } from "zod";
import { makeFolder } from "../journal/folder.ts";
import { factsOf } from "./compare-logs.ts";

const any = { type: "object" } as const;
const counted = usage({ inputTokens: 100, outputTokens: 7, cachedInputTokens: 60 });

/** The calls that ran, by tool name. */
let ran: string[] = [];

function tool(name: string, execute: () => unknown, more: Partial<ExecutableTool> = {}): ExecutableTool {
  return defineTool({ name, description: `Does ${name}`, inputSchema: any, ...more, execute: () => (ran.push(name), execute()) });
}

const look = tool("look", () => ({ found: ["a", "b"] }));
const long = tool("long", () => "A long result. ".repeat(200));
const broken = tool("broken", () => {
  throw new Error("The disk is full.");
});
const picture = tool("picture", () =>
  toolResult({ data: "drawn", content: [{ type: "image", mediaType: "image/png", data: "AA==" }] }),
);
const pay = tool("pay", () => "paid", { needsApproval: true });
const ask = defineAgentTool({
  name: "ask",
  description: "Asks",
  inputSchema: any,
  prepare: () => ({
    provider: createMockProvider([
      [toolCall("look"), counted],
      [text("Inner."), counted],
    ]),
    tools: [look],
    messages: [{ role: "user", content: "Look." }],
  }),
});
const tools = [look, long, broken, picture, pay, ask];

interface First {
  readonly script: readonly MockMessage[];
  readonly from: number;
  readonly options?: Partial<LoopOptions>;
}

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
      policies: {
        approve: ({ name }) => (name === "pay" ? { kind: "deny", reason: "Too much." } : { kind: "modify", args: { n: 2 } }),
      },
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
    options: { policies: { masking: maskResults({ keepIterations: 1, minTokens: 0 }) } },
  },
  "with shortened results": {
    script: [[toolCall("long"), toolCall("look")], toolCall("long"), text("Done.")],
    from: 2,
    options: { policies: { results: truncateResults({ maxTokens: 50 }) } },
  },
  "with an invalid answer": {
    script: [toolCall("look"), text('{"n":"x"}'), text('{"n":1}')],
    from: 2,
    options: { policies: { output: structuredOutput(strict) } },
  },
  "with a warning about a loop": {
    script: [toolCall("look"), toolCall("look"), toolCall("look"), text("Done.")],
    from: 3,
    options: { policies: { loopDetection: detectLoops({ threshold: 2, action: "inject-warning" }) } },
  },
  "with a malformed call": { script: [[text("So: "), finish("malformed-call")], text("Done.")], from: 1 },
  "with context items": { script: [toolCall("look"), text("Done.")], from: 1, options: { contextItems: ["Berlin", "2026"] } },
};

interface Files {
  readonly log: string;
  readonly journal: string;
}

/** Runs the first run with a log and a journal. */
async function runFirst({ script, options }: Pick<First, "script" | "options">): Promise<Files> {
  const folder = makeFolder();
  const files = { log: join(folder, "run.jsonl"), journal: join(folder, "journal.jsonl") };
  const provider = createMockProvider([...script]);
  const all: LoopOptions = {
    provider,
    tools,
    messages: [{ role: "user", content: "Go." }],
    runId: "first",
    system: "Be brief.",
    journal: fileJournal(files.journal, { fsync: false }),
    ...options,
  };
  await runToolLoop(withRunLog(all, { to: files.log }));
  return files;
}

interface Second {
  readonly provider: MockProvider;
  readonly log: RunLog;
  readonly ran: readonly string[];
}

/** Runs the second run, and returns the tools that it ran. */
async function runSecond(source: string, iteration: number, options: Partial<RerunOptions> = {}): Promise<Second> {
  const provider = createMockProvider(() => [text("New."), counted], { id: "other", model: "other-model" });
  const lines: string[] = [];
  ran = [];
  const all = await rerunFrom(source, { iteration }, { provider, tools, ...options });
  await runToolLoop(withRunLog(all, { to: { write: (line) => lines.push(line) } }));
  return { provider, log: parseRunLog(lines.join("")), ran };
}

const kinds = ["log", "journal"] as const;
const table = Object.entries(firsts).flatMap(([what, first]) => kinds.map((kind) => [what, kind, first] as const));

describe("rerunFrom", () => {
  it.for(table)("repeats a run %s from its %s, and runs no tool", async ([, kind, { from, ...first }]) => {
    const files = await runFirst(first);
    const {
      provider,
      log,
      ran: again,
    } = await runSecond(files[kind], from, {
      system: "Be long.",
      ...(kind === "journal" && first.options),
      policies: first.options?.policies,
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

  it.for(kinds)("repeats a message that was steered into the run, from its %s", async (kind) => {
    const control = createLoopControl();
    const late = tool("late", () => control.steer("In German, please."));
    const options = { control, tools: [...tools, late] };
    const files = await runFirst({ script: [toolCall("late"), text("Fertig."), text("Mehr.")], options });
    const { provider, log } = await runSecond(files[kind], 1, { tools });
    expect(provider.requests[0]?.messages.at(-1)).toEqual({ role: "user", content: "In German, please." });
    expect(log.runs[0]?.lines.filter(({ type }) => type === "steered")).toMatchObject([{ iteration: 1 }]);
  });

  it.for(kinds)("repeats a run that went on after its answer, from its %s", async (kind) => {
    const control = createLoopControl();
    const provider = createMockProvider(({ iteration }) => {
      if (iteration === 0) control.steer("And then?");
      return text(`Answer ${iteration}.`);
    });
    const files = await runFirst({ script: [], options: { control, provider } });
    const { provider: other } = await runSecond(files[kind], 1);
    expect(other.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  it.for(kinds)("repeats a run that was retried, from its %s", async (kind) => {
    const folder = makeFolder();
    const files = { log: join(folder, "run.jsonl"), journal: join(folder, "journal.jsonl") };
    const script = [toolCall("look"), fail({ status: 400, message: "no" }), toolCall("look"), text("Done.")];
    const provider = createMockProvider(script);
    const options = { provider, tools, messages: [{ role: "user", content: "Go." }], runId: "first" } as const;
    const run = (resume?: "retry-last"): Promise<unknown> =>
      runToolLoop(withRunLog({ ...options, journal: fileJournal(files.journal), resume }, { to: files.log }));
    await run();
    await run("retry-last");
    const { provider: other, ran: again } = await runSecond(files[kind], 2);
    expect([other.requests[0]?.messages.map(({ role }) => role), again]).toEqual([
      ["user", "assistant", "tool", "assistant", "tool"],
      [],
    ]);
  });

  it("goes on with other tools, and runs them from the iteration on", async () => {
    const files = await runFirst({ script: [toolCall("look"), toolCall("look"), text("Done.")] });
    const find = tool("find", () => "found");
    const provider = createMockProvider([toolCall("find"), toolCall("look"), text("New.")]);
    const options = await rerunFrom(files.log, { iteration: 1 }, { provider, tools: [find] });
    ran = [];
    const result = await runToolLoop(options);
    expect([ran, result.status, result.iterations]).toEqual([["find"], "completed", 4]);
    expect(result.functionHistory.map(({ functionCall, outcome }) => [functionCall.name, outcome])).toEqual([
      ["look", "completed"],
      ["find", "completed"],
      ["look", "unknown-tool"],
    ]);
    expect(result.runId).not.toBe("first");
  });

  it("can repeat a run that was itself repeated, from its log", async () => {
    const files = await runFirst({ script: [toolCall("look"), toolCall("long"), text("Done.")] });
    const second = join(makeFolder(), "second.jsonl");
    const options = await rerunFrom(
      files.log,
      { iteration: 1 },
      { provider: createMockProvider([toolCall("long"), text("B.")]), tools },
    );
    await runToolLoop(withRunLog(options, { to: second }));
    const { provider, log, ran: again } = await runSecond(second, 2);
    expect([provider.requests[0]?.messages.length, again, log.runs[0]?.iterations.length]).toEqual([5, [], 3]);
  });

  it("repeats a context restart from the journal, and names the last iteration that the log allows", async () => {
    const restart = tool("restart", () => contextRestart({ type: "context_restart_more", data: "Berlin" } as never));
    const options = { tools: [...tools, restart] };
    const files = await runFirst({ script: [toolCall("look"), toolCall("restart"), text("Done.")], options });
    const refused = await runSecond(files.log, 2).catch((error: unknown) => error);
    if ((await readRunLog(files.log)).runs[0]?.lines.some(({ type }) => type === "restart") === true)
      expect(refused).toMatchObject({
        code: "rerun-refused",
        message: expect.stringContaining("Choose iteration 1 or an earlier one"),
      });
    expect((await runSecond(files.journal, 2, options)).ran).toEqual([]);
  });

  it("refuses an iteration that the run does not have", async () => {
    const files = await runFirst({ script: [toolCall("look"), text("Done.")] });
    for (const source of [files.log, files.journal])
      await expect(runSecond(source, 2)).rejects.toMatchObject({
        code: "rerun-refused",
        message: "The run cannot be tried again from iteration 2: it has iterations 0 to 1. Choose one of these.",
      });
    await expect(rerunFrom(files.log, { iteration: -1 }, {} as never)).rejects.toMatchObject({ code: "invalid-option" });
    await expect(rerunFrom(files.log, { iteration: 0, runId: "other" }, {} as never)).rejects.toMatchObject({
      code: "rerun-refused",
      message: expect.stringContaining("Choose one of: first"),
    });
  });

  it("refuses the id of the first run, because keys of calls contain it", async () => {
    const files = await runFirst({ script: [toolCall("look"), text("Done.")] });
    await expect(runSecond(files.log, 1, { runId: "first" })).rejects.toMatchObject({ code: "invalid-option" });
  });

  it("rejects before any request if the options end the run earlier", async () => {
    const files = await runFirst({ script: [toolCall("broken"), toolCall("broken"), text("Done.")] });
    const provider = createMockProvider([text("New.")]);
    const options = await rerunFrom(files.log, { iteration: 2 }, { provider, limits: { maxConsecutiveToolErrors: 1 } });
    const error = await runToolLoop(options).catch((thrown: unknown) => thrown);
    expect([isLoopError(error, "rerun-refused") && error.message, provider.requests]).toEqual([
      "The run cannot be tried again from iteration 2: with these options, the run ends at iteration 0 (tool-error-cap).",
      [],
    ]);
    await expect(runSecond(files.log, 2, { limits: { maxIterations: 2 } })).rejects.toMatchObject({ code: "rerun-refused" });
  });

  it("has a journal from which the new run can be resumed", async () => {
    const files = await runFirst({ script: [toolCall("look"), text("Done.")] });
    const provider = createMockProvider([toolCall("pay"), text("New.")]);
    const journal = fileJournal(join(makeFolder(), "second.jsonl"), { fsync: false });
    const options = await rerunFrom(files.log, { iteration: 1 }, { provider, tools, runId: "second", journal });
    const waiting = await runToolLoop(options);
    const [call] = waiting.pendingCalls;
    const result = await runToolLoop({ ...options, decisions: { [call?.callId ?? ""]: { kind: "approve" } } });
    expect([waiting.status, result.status, result.text]).toEqual(["suspended", "completed", "New."]);
  });
});
