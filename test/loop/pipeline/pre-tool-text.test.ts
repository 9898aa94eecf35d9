import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  createLoopControl,
  createToolRegistry,
  gateTools,
  type LoopOptions,
  memoryJournal,
  type Middleware,
  onIteration,
  preToolText,
  type Tool,
  toolResult,
} from "turnwright";
import type { PreToolTextPolicy } from "../../../src/core/types/middleware-options.ts";
import {
  chunk,
  createMockProvider,
  finish,
  type MockPart,
  type MockScript,
  reasoning,
  stall,
  text,
  toolCall,
} from "turnwright/testing";
import { never, outcomesOf, play, tool, type Playing } from "../play.ts";
import { linesOf } from "../transcript-lines.ts";

function act(args: unknown): unknown {
  switch (Reflect.get(Object(args), "do")) {
    case "fail":
      throw new Error("no");
    case "end":
      return toolResult({ data: "bye", endTurn: true });
    case "restart":
      return contextRestart({ type: "context_restart_x" });
    case "leave":
      return { ...contextRestart({ type: "context_restart_x" }), endTurn: true };
    case "hang":
      return never;
    default:
      return "done";
  }
}

const tools: readonly Tool[] = [
  tool("plain", act),
  tool("update_short_term_memory", act),
  tool("quiet", act, { requiresFollowUp: false }),
  tool("loud", act, { requiresFollowUp: true }),
];

const callsOf = (words: string): readonly MockPart[] =>
  words.split(" ").map((word) => {
    const [name = "", what = "work"] = word.split(":");
    return toolCall(name === "memory" ? "update_short_term_memory" : name, { do: what });
  });

const endings: PreToolTextPolicy = {
  endAfterTextFamilies: ["novelai"],
  suppressFollowUpAfterText: ["update_short_term_memory"],
};

function start(family: string | undefined, script: MockScript, more: Partial<LoopOptions> = {}): Playing {
  const given = more.middleware ?? [];
  const isSet = given.some((one) => one && one.name === "pre-tool-text");
  const middleware = isSet ? given : [...given, preToolText(endings)];
  return play([], { provider: createMockProvider(script, { family }), tools, ...more, middleware });
}

async function endOf(
  [family, said, calls]: readonly [family: string | undefined, said: string, calls: string],
  more: Partial<LoopOptions> = {},
): Promise<string> {
  const playing = start(family, [[text(said), ...callsOf(calls)], text("An answer.")], more);
  await playing.clock.runAll();
  const { status, reason, text: last } = await playing.result;
  return `${status}/${reason.kind}: ${last}`;
}

const ended = "completed/pre-tool-text: Noted.";
const wentOn = "completed/answered: An answer.";

describe("preToolText", () => {
  it.for<[title: string, family: string | undefined, said: string, calls: string, end: string]>([
    ["ends the run with the trimmed text for a listed family", "novelai", " Noted. \n", "plain", ended],
    ["ends the run for a listed family, whatever tools are called", "novelai", "Noted.", "plain loud quiet memory", ended],
    ["continues the run for a listed family if the text is empty", "novelai", "", "plain", wentOn],
    ["continues the run for a listed family if the text is blank", "novelai", " \n", "plain", wentOn],
    ["continues the run for an unlisted model family", "openai", "Noted.", "plain", wentOn],
    ["continues the run for a listed family in a different letter case", "NovelAI", "Noted.", "plain", wentOn],
    ["continues the run for a provider without a family", undefined, "Noted.", "plain", wentOn],
    ["ends the run for a listed tool", undefined, "Noted.", "memory", ended],
    ["ends the run for a tool with requiresFollowUp: false", undefined, "Noted.", "quiet", ended],
    ["ends the run if no tool requires a follow-up", "openai", "Noted.", "memory quiet memory", ended],
    ["continues the run for a listed tool after empty text", undefined, "", "memory", wentOn],
    ["continues the run for a tool with requiresFollowUp: false after blank text", undefined, " ", "quiet", wentOn],
    ["continues the run for a tool with requiresFollowUp: true", undefined, "Noted.", "loud", wentOn],
    ["continues the run for a listed tool beside an ordinary tool", undefined, "Noted.", "memory plain", wentOn],
    ["continues the run if only one of two tools has requiresFollowUp: false", undefined, "Noted.", "plain quiet", wentOn],
    ["continues the run for a listed family if the call fails", "novelai", "Noted.", "plain:fail", wentOn],
    ["continues the run for a listed family if one of three calls fails", "novelai", "Noted.", "plain plain:fail plain", wentOn],
    ["continues the run for a listed family after a call to an unknown tool", "novelai", "Noted.", "unknown", wentOn],
    ["continues the run for a listed family if the call times out", "novelai", "Noted.", "plain:hang", wentOn],
    ["continues the run if a call to a listed tool fails", undefined, "Noted.", "memory:fail", wentOn],
    ["continues the run if one of two listed tools fails", undefined, "Noted.", "quiet memory:fail", wentOn],
    // After a context restart, the run always continues, because the model must see the new context.
    ["continues the run for a listed family after a context restart", "novelai", "Noted.", "plain:restart", wentOn],
    ["continues the run after a context restart beside a listed tool", undefined, "Noted.", "memory quiet:restart", wentOn],
    // If a call also returns endTurn, that is the reason for which the run ends.
    ['keeps the reason "end-turn" for a listed family', "novelai", "Noted.", "plain plain:end", "completed/end-turn: Noted."],
    ['keeps the reason "end-turn" for a listed tool', undefined, "Noted.", "memory:end", "completed/end-turn: Noted."],
    ['continues the run if a call beside "end-turn" fails', "novelai", "Noted.", "plain:fail plain:end", wentOn],
    ["continues the run for a listed family after a context restart with endTurn", "novelai", "Noted.", "plain:leave", wentOn],
  ])("%s", async ([, family, said, calls, end]) => {
    expect(await endOf([family, said, calls])).toBe(end);
  });

  it("ignores reasoning and text from an earlier iteration", async () => {
    const thought = start("novelai", [[reasoning("Noted."), ...callsOf("plain")], text("An answer.")]);
    expect((await thought.result).reason.kind).toBe("answered");
    const earlier = start(undefined, [[text("Noted."), ...callsOf("plain")], callsOf("memory"), text("An answer.")]);
    expect((await earlier.result).reason.kind).toBe("answered");
  });

  it("ignores text before a malformed call", async () => {
    const playing = start("novelai", [[text("Noted."), finish("malformed-call")], text("An answer.")]);
    expect((await playing.result).reason.kind).toBe("answered");
  });

  it("counts text before a continuation", async () => {
    const playing = start(undefined, [[text("Noted."), finish("paused")], callsOf("memory"), text("An answer.")]);
    expect(await playing.result).toMatchObject({ reason: { kind: "pre-tool-text" }, text: "Noted." });
  });

  it("uses the model family of the attempt that the run keeps", async () => {
    const attempt = (family: string): MockPart =>
      chunk({ type: "attempt-start", attempt: 1, provider: "inner", model: "m", family });
    const script = (family: string): MockScript => [[attempt(family), text("Noted."), ...callsOf("plain")], text("An answer.")];
    expect((await start("openai", script("novelai")).result).reason.kind).toBe("pre-tool-text");
    expect((await start("novelai", script("openai")).result).reason.kind).toBe("answered");
  });

  it.for<[kind: string, more: Partial<LoopOptions>]>([
    ["blocked", { middleware: [gateTools({ active: true, allowedNames: [] })] }],
    ["denied", { middleware: [approve(() => ({ kind: "deny" }))] }],
  ])("does not end the run after a call that was %s", async ([, more]) => {
    expect(await endOf(["novelai", "Noted.", "memory"], more)).toBe(wentOn);
  });

  it("keeps each call and its result in the messages and in functionHistory", async () => {
    const result = await start(undefined, [[text("Noted."), ...callsOf("memory quiet")]]).result;
    expect(linesOf(result.messages)).toEqual([
      "user: Go.",
      "assistant: Noted.[call_i0_0][call_i0_1]",
      "tool: call_i0_0 completed, call_i0_1 completed",
    ]);
    expect(result.functionHistory.map(({ preToolText: before, outcome }) => [before, outcome])).toEqual([
      ["Noted.", "completed"],
      ["Noted.", "completed"],
    ]);
  });

  it("ends the run as completed in the last iteration allowed by maxIterations", async () => {
    expect(await endOf([undefined, "Noted.", "memory"], { limits: { maxIterations: 1 } })).toBe(ended);
  });
});

describe("preToolText together with other reasons to end", () => {
  it("does not apply if onIteration aborts the run first", async () => {
    const asked: number[] = [];
    const hooks = (reason?: string): readonly Middleware[] => [
      onIteration((iteration) => {
        asked.push(iteration);
        return reason === undefined ? undefined : { abort: true, reason };
      }),
    ];
    expect(await endOf([undefined, "Noted.", "memory"], { middleware: hooks() })).toBe(ended);
    expect(await endOf([undefined, "Noted.", "memory"], { middleware: hooks("enough") })).toBe(
      "stopped-by-user/iteration-abort: Noted.",
    );
    expect(asked).toEqual([1, 1]);
  });

  it("does not apply after a stop or a steered message", async () => {
    const endAfter = async (ask: (control: ReturnType<typeof createLoopControl>) => unknown): Promise<string> => {
      const control = createLoopControl();
      return endOf([undefined, "Noted.", "memory"], { control, middleware: [onIteration(() => void ask(control))] });
    };
    expect(await endAfter((control) => control.stop())).toBe("stopped-by-user/stopped: Noted.");
    expect(await endAfter((control) => control.steer("And then?"))).toBe(wentOn);
  });
});

describe("preToolText with various values", () => {
  it.for<[title: string, policy: PreToolTextPolicy, family: string, calls: string, end: string]>([
    ["continues the run with an empty policy", {}, "novelai", "plain memory", wentOn],
    [
      "continues the run if both lists are undefined",
      { endAfterTextFamilies: undefined, suppressFollowUpAfterText: undefined },
      "novelai",
      "plain",
      wentOn,
    ],
    ["ends the run for requiresFollowUp: false even with an empty policy", {}, "openai", "quiet", ended],
    ["ends the run for a listed family", { endAfterTextFamilies: ["kobold", "openai"] }, "openai", "plain", ended],
    ["continues the run for an unlisted model family", { endAfterTextFamilies: ["kobold"] }, "novelai", "plain", wentOn],
    ["ends the run for a listed tool", { suppressFollowUpAfterText: ["plain"] }, "openai", "plain", ended],
    ["continues the run for a tool that is not listed", { suppressFollowUpAfterText: ["plain"] }, "openai", "memory", wentOn],
    [
      "ends the run for a listed tool and a tool with requiresFollowUp: false",
      { suppressFollowUpAfterText: ["plain"] },
      "openai",
      "plain quiet",
      ended,
    ],
    ["continues the run if no family is listed", { ...endings, endAfterTextFamilies: [] }, "novelai", "plain", wentOn],
    ["ends the run for a listed tool without families", { ...endings, endAfterTextFamilies: [] }, "novelai", "memory", ended],
    ["continues the run if no tool is listed", { ...endings, suppressFollowUpAfterText: [] }, "openai", "memory", wentOn],
    [
      "ends the run for a listed family with no listed tool",
      { ...endings, suppressFollowUpAfterText: [] },
      "novelai",
      "memory",
      ended,
    ],
    [
      "ends the run for requiresFollowUp: false if both lists are empty",
      { endAfterTextFamilies: [], suppressFollowUpAfterText: [] },
      "novelai",
      "quiet",
      ended,
    ],
    // The list in the policy overrides the `requiresFollowUp` field of the tool.
    ["overrides requiresFollowUp: true on a listed tool", { suppressFollowUpAfterText: ["loud"] }, "openai", "loud", ended],
  ])("%s", async ([, endings, family, calls, end]) => {
    expect(await endOf([family, "Noted.", calls], { middleware: [preToolText(endings)] })).toBe(end);
  });

  it("copies its lists when the run starts, so later changes have no effect", async () => {
    const families = ["openai"];
    const middleware = [preToolText({ endAfterTextFamilies: families })];
    const playing = start("openai", [[text("Noted."), ...callsOf("plain")], text("An answer.")], { middleware });
    families.length = 0;
    expect((await playing.result).reason.kind).toBe("pre-tool-text");
  });
});

describe("requiresFollowUp", () => {
  it.for<[value: unknown, received: string]>([
    ["no", '"no"'],
    [0, "0"],
    [null, "null"],
  ])("is rejected if its value is %j", ([value, received]) => {
    const make = (): Tool => tool("plain", act, { requiresFollowUp: value as boolean });
    expect(make).toThrow(`Tool "plain" has an invalid "requiresFollowUp": it is ${received}, but must be true or false.`);
  });

  it("can end the run if set in the definitions of a custom registry", async () => {
    const inner = createToolRegistry(tools);
    const definitions = inner.definitions().map((one) => ({ ...one, requiresFollowUp: one.name !== "plain" }));
    const registry = { definitions: () => definitions, executeTool: inner.executeTool.bind(inner) };
    expect(await endOf([undefined, "Noted.", "plain"], { tools: registry })).toBe(ended);
    expect(await endOf([undefined, "Noted.", "quiet"], { tools: registry })).toBe(wentOn);
  });

  it("has the same effect in a replay, without calling the model or the tool", async () => {
    const { options, result: ended } = start(undefined, [[text("Noted."), ...callsOf("quiet")]]);
    const saved: unknown = JSON.parse(JSON.stringify((await ended).journal));
    const mute = (options.tools as readonly Tool[]).map((one) => ({ ...one, execute: () => never }));
    const again = start(undefined, [stall()], { tools: mute, journal: memoryJournal(saved as never) });
    const result = await again.result;
    expect([result.reason.kind, result.text, outcomesOf(result)]).toEqual(["pre-tool-text", "Noted.", ["call_i0_0: completed"]]);
  });
});
