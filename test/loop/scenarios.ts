// Whole runs, one for each way in which a run can end. Every scenario is run twice: once for real, once from its journal.

import { z } from "zod";
import {
  createLoopControl,
  defineTool,
  FatalToolError,
  toolResult,
  type LoopControl,
  type LoopOptions,
  type LoopStatus,
  type Termination,
  type Tool,
  type ToolContext,
} from "turnwright";
import {
  createMockProvider,
  createTestClock,
  details,
  endEarly,
  fail,
  failInBand,
  finish,
  type MockProvider,
  type MockScript,
  native,
  reasoning,
  stall,
  type TestClock,
  text,
  thoughtLog,
  toolCall,
  usage,
  wait,
} from "turnwright/testing";

/** What a scenario may use from outside the run. */
export interface Stage {
  readonly clock: TestClock;
  readonly control: LoopControl;
  readonly abort: AbortController;
}

/** One way in which a run ends. */
export interface Scenario {
  readonly title: string;
  readonly status: LoopStatus;
  readonly reason: Termination["kind"];
  readonly script: MockScript;
  readonly options?: (stage: Stage) => Partial<LoopOptions>;
  /** What happens outside while the run goes on. */
  readonly meanwhile?: (stage: Stage) => Promise<void> | void;
  /** What `result.text` is. */
  readonly text: string;
  /** The provider never notices that it was left. */
  readonly deafProvider?: true;
}

/** The tools of all scenarios. */
export function createTools({ clock, control }: Stage): readonly Tool[] {
  const any = z.object({}).loose();
  const never = new Promise<never>(() => {});
  const tool = (name: string, execute: (args: unknown, ctx: ToolContext) => unknown, traits: Partial<Tool> = {}): Tool =>
    defineTool({ name, description: name, inputSchema: any, ...traits, execute });
  return [
    defineTool({ name: "echo", description: "Says it back", inputSchema: z.object({ say: z.string() }), execute: ({ say }) => ({ said: say }) }),
    tool("later", () => new Promise((resolve) => clock.setTimeout(() => resolve("late"), 50))),
    tool("broken", () => {
      throw new Error("out of order");
    }),
    tool("fatal", () => Promise.reject(new FatalToolError("the database is gone"))),
    tool("deaf", () => never),
    tool("polite", (_args, ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)))),
    tool("finish", () => toolResult({ success: true, data: "done", endTurn: true })),
    tool("picture", () => toolResult({ success: true, content: [{ type: "image", mediaType: "image/png", data: "aGk=" }] })),
    tool("enrich", () => ({ type: "context_restart_profile", enhanced_context_item: { name: "Ada" }, disable_tools: ["enrich_once"] })),
    tool("stopper", () => {
      control.stop({ requester: "the tool" });
      return "dropped";
    }),
    tool("alone", () => "alone", { sequential: true }),
  ];
}

const always =
  (name: string, args = {}): MockScript =>
  () =>
    [text("Again. "), toolCall(name, args)];

/** Every ending that a run can reach, and the turns that lead to it. */
export const scenarios: readonly Scenario[] = [
  // completed
  { title: "a plain answer", status: "completed", reason: "answered", script: [text("Hello", { chunks: 3 })], text: "Hello" },
  {
    title: "an answer after two parallel calls and one more",
    status: "completed",
    reason: "answered",
    script: [
      [reasoning("Hm."), text("One moment. "), toolCall("later"), toolCall("echo", { say: "a" }, { fragments: 3 })],
      [toolCall("echo", { say: "b" })],
      [text(" It is done. "), details("Night."), thoughtLog({ mood: "calm" }), native({ sign: "x" })],
    ],
    meanwhile: ({ clock }) => clock.advance(50),
    text: "It is done.",
  },
  { title: "a tool that ends the turn", status: "completed", reason: "end-turn", script: [[text("Bye. "), toolCall("finish")]], text: "Bye." },
  { title: "text at the length limit", status: "completed", reason: "length", script: [[text("Half of"), finish("length")]], text: "Half of" },
  { title: "a full context with text", status: "completed", reason: "length", script: [[text("Half of"), finish("context-full")]], text: "Half of" },
  { title: "a refusal with a call", status: "completed", reason: "refusal", script: [[text("No."), toolCall("echo", { say: "x" }), finish("refusal")]], text: "No." },
  { title: "a filter without text", status: "completed", reason: "content-filter", script: [finish("content-filter")], text: "" },
  { title: "silence after text", status: "completed", reason: "answered", script: [[text("Look:"), toolCall("echo", { say: "x" })], finish("stop")], text: "Look:" },
  { title: "silence after a picture", status: "completed", reason: "answered", script: [toolCall("picture"), finish("stop")], text: "" },
  { title: "tool calls announced, only text sent", status: "completed", reason: "answered", script: [[text("So."), finish("tool-calls")]], text: "So." },
  {
    title: "a paused turn that is resent",
    status: "completed",
    reason: "answered",
    script: [[text("One "), native({ part: 1 }), finish("paused")], [text("two "), finish("continue", { token: "t" })], [text("three")]],
    text: "One two three",
  },
  { title: "a call in a paused turn, answered by the next hop", status: "completed", reason: "answered", script: [[toolCall("echo", { say: "x" }), finish("paused")], [finish("tool-calls")], text("Good.")], text: "Good." },
  { title: "truncated calls, then an answer", status: "completed", reason: "answered", script: [[toolCall("echo", { say: "x" }), finish("length")], text("Short.")], text: "Short." },
  { title: "malformed arguments, then an answer", status: "completed", reason: "answered", script: [toolCall("echo", {}, { rawArgs: '{"say": "a' }), text("Sorry.")], text: "Sorry." },
  { title: "a malformed call without a call, then an answer", status: "completed", reason: "answered", script: [finish("malformed-call"), text("Again.")], text: "Again." },
  { title: "unknown tools and invalid input, then an answer", status: "completed", reason: "answered", script: [[toolCall("ecko", { say: "x" }), toolCall("echo", { say: 7 }), toolCall("__proto__")], text("Well.")], text: "Well." },
  { title: "duplicate and missing ids", status: "completed", reason: "answered", script: [[toolCall("echo", { say: "a" }, { id: "x" }), toolCall("echo", { say: "b" }, { id: "x" }), toolCall("alone")], [toolCall("echo", { say: "c" }, { id: "x" })], text("Fine.")], text: "Fine." },
  {
    title: "a tool that times out, then an answer",
    status: "completed",
    reason: "answered",
    script: [[toolCall("deaf"), toolCall("echo", { say: "x" })], text("Moving on.")],
    meanwhile: ({ clock }) => clock.advance(300_000),
    text: "Moving on.",
  },
  { title: "a context restart", status: "completed", reason: "answered", script: [[text("Wait. "), toolCall("enrich"), toolCall("echo", { say: "x" })], text("Hello Ada.")], text: "Hello Ada." },
  {
    title: "a gate that blocks",
    status: "completed",
    reason: "answered",
    script: [[toolCall("echo", { say: "x" }), toolCall("alone")], text("Allowed.")],
    options: () => ({
      policies: {
        gate: { active: true, allowedNames: ["alone"], triggerMatchByToolName: new Map([["alone", { trigger: "a*", match: "alone", source: "stem" }]]) },
      },
    }),
    text: "Allowed.",
  },
  {
    title: "approvals: yes, no and an edit",
    status: "completed",
    reason: "answered",
    script: [[toolCall("echo", { say: "a" }), toolCall("alone"), toolCall("echo", { say: "c" })], text("Approved.")],
    options: () => ({
      policies: {
        approve: async (call) => {
          if (call.name === "alone") return { kind: "deny", reason: "not today" };
          return call.callId.endsWith("_2") ? { kind: "modify", args: { say: "edited" } } : { kind: "approve" };
        },
      },
    }),
    text: "Approved.",
  },
  { title: "calls past the limit, then an answer", status: "completed", reason: "answered", script: [[toolCall("echo", { say: "a" }), toolCall("echo", { say: "b" })], text("Enough.")], options: () => ({ limits: { maxToolCalls: 1 } }), text: "Enough." },
  // error
  { title: "a provider that throws", status: "error", reason: "provider-error", script: [[text("Par"), fail({ status: 503, message: "busy" })]], text: "Par" },
  { title: "an error in the stream", status: "error", reason: "provider-error", script: [failInBand({ name: "E", message: "no", code: "overloaded", retryable: true })], text: "" },
  { title: "a stream that ends early, with a call", status: "error", reason: "provider-error", script: [[text("Cut"), toolCall("echo", { say: "x" }), endEarly()]], text: "Cut" },
  { title: "a finish of an unknown kind", status: "error", reason: "provider-error", script: [[toolCall("echo", { say: "x" }), finish("unknown")]], text: "" },
  { title: "a call without a name", status: "error", reason: "malformed-call", script: [[text("Hm"), toolCall("echo", { say: "x" }), toolCall(" ")]], text: "Hm" },
  { title: "tool errors in a row", status: "error", reason: "tool-error-cap", script: always("broken"), options: () => ({ limits: { maxConsecutiveToolErrors: 3 } }), text: "Again." },
  { title: "restarts without end", status: "error", reason: "restart-cap", script: always("enrich"), text: "Again." },
  { title: "tokens spent", status: "error", reason: "max-tokens", script: () => [text("So "), toolCall("alone"), usage({ inputTokens: 60, outputTokens: 1 })], options: () => ({ limits: { maxTokens: 100 } }), text: "So" },
  { title: "tool calls without end", status: "error", reason: "max-tool-calls", script: always("alone"), options: () => ({ limits: { maxToolCalls: 2 } }), text: "Again." },
  { title: "pauses without end", status: "error", reason: "max-pauses", script: () => [text("."), finish("paused")], options: () => ({ limits: { maxPauses: 3 } }), text: "...." },
  { title: "a hook that throws", status: "error", reason: "hook-failed", script: always("alone"), options: () => ({ hooks: { onIteration: () => Promise.reject(new Error("no")) } }), text: "Again." },
  { title: "a preparing hook that throws", status: "error", reason: "hook-failed", script: [], options: () => ({ hooks: { preparePass: () => { throw new Error("no"); } } }), text: "" },
  { title: "a fatal tool error", status: "error", reason: "fatal-tool-error", script: [[text("Saving. "), toolCall("fatal"), toolCall("alone")]], text: "Saving." },
  // timeout
  { title: "the last iteration", status: "timeout", reason: "max-iterations", script: always("alone"), options: () => ({ limits: { maxIterations: 3 } }), text: "Again." },
  {
    title: "the last iteration, with a final answer",
    status: "timeout",
    reason: "max-iterations",
    script: (request) => (request.toolChoice === "none" ? text("In short: no.") : [text("Again."), toolCall("alone")]),
    options: () => ({ limits: { maxIterations: 2 }, policies: { finalAnswer: true } }),
    text: "In short: no.",
  },
  { title: "a model that never begins", status: "timeout", reason: "first-chunk", script: [stall()], meanwhile: ({ clock }) => clock.advance(300_000), text: "" },
  { title: "a model that falls silent", status: "timeout", reason: "stream-idle", script: [[text("And then"), wait(119_000), text(" it"), stall()]], meanwhile: ({ clock }) => clock.advance(239_000), text: "And then it" },
  {
    title: "a deaf model that falls silent",
    status: "timeout",
    reason: "stream-idle",
    script: [[text("And"), stall({ ignoreSignal: true })]],
    meanwhile: ({ clock }) => clock.advance(125_000),
    text: "And",
    deafProvider: true,
  },
  {
    title: "the wall clock in a stream",
    status: "timeout",
    reason: "wall-clock",
    script: [[text("Tick"), usage({ inputTokens: 3, outputTokens: 1 }), stall()]],
    options: () => ({ limits: { wallClockMs: 1_000 } }),
    meanwhile: ({ clock }) => clock.advance(1_000),
    text: "Tick",
  },
  {
    title: "the wall clock in a deaf tool",
    status: "timeout",
    reason: "wall-clock",
    script: [[text("Tock"), toolCall("deaf"), toolCall("alone"), toolCall("echo", { say: "x" })]],
    options: () => ({ limits: { wallClockMs: 1_000 } }),
    meanwhile: ({ clock }) => clock.advance(6_000),
    text: "Tock",
  },
  // empty_response
  { title: "nothing at all", status: "empty_response", reason: "empty", script: [finish("stop")], text: "" },
  { title: "only blanks", status: "empty_response", reason: "empty", script: [text(" \n ")], text: "" },
  // stopped_by_user
  {
    title: "a stop in a stream",
    status: "stopped_by_user",
    reason: "stopped",
    script: [[text("Let me "), stall()]],
    meanwhile: async ({ clock, control }) => {
      await clock.flush();
      control.stop({ requester: "Ada", note: "enough" });
    },
    text: "Let me",
  },
  { title: "a stop from within a tool", status: "stopped_by_user", reason: "stopped", script: [[toolCall("stopper"), toolCall("alone")]], text: "" },
  {
    title: "a stop while tools run",
    status: "stopped_by_user",
    reason: "stopped",
    script: [[text("Working. "), toolCall("polite"), toolCall("echo", { say: "x" }), toolCall("deaf"), toolCall("alone")]],
    meanwhile: async ({ clock, control }) => {
      await clock.flush();
      control.stop();
      await clock.advance(5_000);
    },
    text: "Working.",
  },
  { title: "a stop before the start", status: "stopped_by_user", reason: "stopped", script: [], options: ({ control }) => (control.stop(), {}), text: "" },
  {
    title: "a kill of a deaf tool",
    status: "stopped_by_user",
    reason: "killed",
    script: [[text("Working. "), toolCall("deaf"), toolCall("echo", { say: "x" })]],
    meanwhile: async ({ clock, control }) => {
      await clock.flush();
      control.kill();
    },
    text: "Working.",
  },
  {
    title: "an abort of a deaf stream",
    status: "stopped_by_user",
    reason: "aborted",
    script: [[text("Le"), stall({ ignoreSignal: true })]],
    meanwhile: async ({ clock, abort }) => {
      await clock.flush();
      abort.abort(new Error("tab closed"));
    },
    text: "Le",
    deafProvider: true,
  },
  { title: "an abort before the start", status: "stopped_by_user", reason: "aborted", script: [], options: ({ abort }) => (abort.abort(), {}), text: "" },
  { title: "a hook that aborts", status: "stopped_by_user", reason: "iteration-abort", script: always("alone"), options: () => ({ hooks: { onIteration: (n) => (n === 2 ? { abort: true, reason: "two is enough" } : undefined) } }), text: "Again." },
];

/** A scenario ready to run. */
export interface Staged {
  readonly stage: Stage;
  readonly provider: MockProvider;
  readonly options: LoopOptions;
}

/** Sets a scenario up anew. */
export function setUp(scenario: Scenario): Staged {
  const stage: Stage = { clock: createTestClock(), control: createLoopControl(), abort: new AbortController() };
  const provider = createMockProvider(scenario.script);
  const { clock, control, abort } = stage;
  const options: LoopOptions = {
    provider,
    tools: createTools(stage),
    messages: [{ role: "user", content: "Go." }],
    runId: "r",
    clock,
    control,
    signal: abort.signal,
    ...scenario.options?.(stage),
  };
  return { stage, provider, options };
}
