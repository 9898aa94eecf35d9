// Runs a random program against strict services, on a test clock.

import {
  createLoopControl,
  defineTool,
  type JsonSchema,
  type LoopControl,
  type LoopOptions,
  type LoopResult,
  maskResults,
  memoryJournal,
  type MemoryJournal,
  type Message,
  type Provider,
  runToolLoop,
  structuredOutput,
  type Tool,
  toolResult,
  withFallback,
  withRetry,
} from "turnwright";
import { z } from "zod";
import { fromAnthropicMessages, toAnthropicMessages } from "turnwright/anthropic";
import { compactMessages } from "turnwright/compaction";
import { createHandoffs } from "turnwright/handoffs";
import { fromOpenAIMessages, toOpenAIMessages } from "turnwright/openai";
import {
  createTestClock,
  endEarly,
  fail,
  finish,
  type MockMessage,
  type MockPart,
  reasoning,
  stall,
  type StrictRequest,
  type StrictService,
  strictService,
  type TestClock,
  text,
  toolCall,
  wait,
} from "turnwright/testing";
import { withToolSearch } from "turnwright/tool-search";
import { fromUIMessages, toUIMessages } from "turnwright/ui-message-stream";
import { allRows, titleOf } from "./connect-strict.ts";
import type { Program, ScriptedMessage } from "./random-program.ts";
import { jpeg, pdf, png } from "./rule-case.ts";

const never = new Promise<never>(() => {});

const image = (data: string, mediaType: string) => ({ type: "image" as const, mediaType, data });

const executes: { readonly [name: string]: () => unknown } = {
  fails: () => toolResult({ success: false, data: "It failed." }),
  throws: () => {
    throw new Error("Half \ud83d of an error");
  },
  hangs: () => never,
  image: () => toolResult({ data: "seen", content: [image(png(), "image/png"), image(jpeg, "image/jpeg")] }),
  wrong_type: () => toolResult({ data: "seen", content: [image(png(), "image/jpeg"), image("Qk0AAA==", "image/bmp")] }),
  failed_image: () => toolResult({ success: false, data: "failed", content: [image(png(), "image/png")] }),
  pdf: () => toolResult({ data: "read", content: [{ type: "file", mediaType: "application/pdf", data: pdf }] }),
  halves: () => ({ ["key \ud83d"]: "value \udc00 \u0000" }),
  empty: () => "",
  ends: () => toolResult({ data: "over", endTurn: true }),
};

const schemas: { readonly [name: string]: JsonSchema } = {
  union: {
    oneOf: [
      { type: "object", properties: { kind: { const: "a" }, n: { type: "number" } }, required: ["kind"] },
      {
        type: "object",
        properties: { kind: { const: "b" }, list: { type: "array", items: { type: "string" } } },
        required: ["kind"],
      },
    ],
  },
};

function toTool(name: string): Tool {
  return defineTool({
    name,
    description: `Tool ${name} \ud83d`,
    inputSchema: schemas[name] ?? { type: "object", properties: { at: { type: "string" } } },
    replay: "safe",
    timeoutMs: 50,
    ...(name === "alone" ? { sequential: true } : {}),
    execute: executes[name] ?? (() => ({ seen: "x".repeat(name === "quick" ? 3_000 : 5) })),
  });
}

const ends: { readonly [End in ScriptedMessage["end"]]: readonly MockPart[] } = {
  usual: [],
  length: [finish("length")],
  early: [endEarly()],
  silent: [stall()],
  busy: [],
};

/** The message of the model for a request. A request without usable tools gets text. */
function toMessage({ reasoning: thought, text: said, calls, end }: ScriptedMessage, request: StrictRequest): MockMessage {
  if (end === "busy") return fail({ status: 503, message: "Overloaded" });
  const asked = toCalls(calls, request);
  return [
    wait(20),
    ...(thought === "" ? [] : [reasoning(thought)]),
    ...(said === "" && asked.length > 0 ? [] : [text(said === "" ? "Done." : said)]),
    ...asked,
    ...ends[end],
  ];
}

function toCalls(calls: ScriptedMessage["calls"], { tools, body }: StrictRequest): readonly MockPart[] {
  if (tools.length === 0 || body["tool_choice"] === "none") return [];
  return calls.map(({ tool, args, fragments }) => toolCall(tools[tool % tools.length] ?? "", {}, { rawArgs: args, fragments }));
}

/** The history, after its way through the format of another library. */
function toHistory({ history, converter }: Program, provider: Provider): readonly Message[] {
  const stored = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;
  switch (converter) {
    case "none":
      return history;
    case "chat":
    case "responses":
      return fromOpenAIMessages(stored(toOpenAIMessages(history, { api: converter }).messages), { provider, api: converter })
        .messages;
    case "anthropic":
      return fromAnthropicMessages(stored(toAnthropicMessages(history).messages), { provider }).messages;
    case "ui":
      return fromUIMessages(stored(toUIMessages(history).messages)).messages;
  }
}

function toPolicies({ policies, finalAnswer, tools }: Program): Pick<LoopOptions, "policies" | "tools"> {
  const all = tools.map(toTool);
  switch (policies) {
    case "none":
      return { tools: all, policies: { finalAnswer } };
    case "masking":
      return { tools: all, policies: { finalAnswer, masking: maskResults({ keepIterations: 1 }) } };
    case "compaction":
      return { tools: all, policies: { finalAnswer, compaction: compactMessages({ when: 600, keep: 100 }) } };
    case "handoffs": {
      const agents = createHandoffs({
        start: "one",
        agents: {
          one: { description: "One.", system: "You are one.", tools: all, handoffs: ["two"] },
          two: { description: "Two.", system: "You are two.", tools: [toTool("other")], handoffs: ["one"] },
        },
      });
      return { tools: agents.tools, policies: { finalAnswer, handoffs: agents } };
    }
    case "tool-search":
      return { tools: withToolSearch(all, { defer: ({ name }) => name !== "quick" }), policies: { finalAnswer } };
    case "output":
      return { tools: all, policies: { finalAnswer, output: structuredOutput(z.object({ a: z.number() })) } };
  }
}

function wrap({ wrapping }: Program, provider: Provider, second: () => Provider): Provider {
  if (wrapping === "none") return provider;
  return wrapping === "retry" ? withRetry(provider, { maxAttempts: 2, baseDelayMs: 10 }) : withFallback([provider, second()]);
}

/** The journal of a process that died after a share of its steps. */
function cut(journal: MemoryJournal, share: number): MemoryJournal {
  const { steps, ...rest } = journal.toJSON();
  const kept = Object.entries(steps).slice(0, Math.ceil(Object.keys(steps).length * share));
  return memoryJournal({ ...rest, steps: Object.fromEntries(kept) });
}

/** The transcript without its last message. A call and its result stay together. */
function beforeLast(messages: readonly Message[]): readonly Message[] {
  return messages.slice(0, messages[messages.length - 1]?.role === "tool" ? -2 : -1);
}

async function settle(running: Promise<LoopResult>, clock: TestClock): Promise<LoopResult> {
  const watch = { isOver: false };
  const end = (): void => {
    watch.isOver = true;
  };
  running.then(end, end);
  for (let round = 0; round < 500 && !watch.isOver; round += 1) await clock.advance(25);
  if (!watch.isOver) throw new Error("The run does not end.");
  return running;
}

export interface Played {
  /** Refused requests, as "service: message". */
  readonly refused: readonly string[];
  /** Other errors about a request. A new file of the user that the service cannot take is an expected error. */
  readonly errors: readonly string[];
  readonly requests: number;
}

export async function playProgram(program: Program): Promise<Played> {
  const clock = createTestClock();
  const services: (readonly [title: string, service: StrictService])[] = [];
  const errors: string[] = [];

  function connect(index: number, script: readonly ScriptedMessage[]): Provider {
    const row = allRows[index % allRows.length];
    if (row === undefined) throw new Error("There are no services.");
    const answers = (request: StrictRequest, at: number): MockMessage => {
      const message = script[at];
      return message === undefined ? text("Done.") : toMessage(message, request);
    };
    const service = strictService(row.kind, { clock, oddities: program.oddities, answers });
    services.push([titleOf(row), service]);
    return row.connect(service);
  }

  async function finishRun(options: LoopOptions): Promise<LoopResult> {
    const result = await settle(runToolLoop({ clock, ...options }), clock);
    const { reason } = result;
    if (
      reason.kind === "provider-error" &&
      reason.error.code === "bad-request" &&
      !reason.error.message.includes("cannot be sent to")
    )
      errors.push(reason.error.message);
    return result;
  }

  const [first, second, later] = program.rows;
  const provider = wrap(program, connect(first, program.script), () => connect(second, program.script));
  const journal = memoryJournal();
  const options = toOptions(program, provider);
  let result = await finishRun({ ...options, journal, control: toControl(program, clock) });
  if (program.resumeAt !== undefined) result = await finishRun({ ...options, journal: cut(journal, program.resumeAt) });
  const branches = program.forks ? [result.messages, beforeLast(result.messages)] : [result.messages];
  for (const branch of branches) {
    const messages = [...branch, question];
    await finishRun({ provider: connect(first, []), messages });
    await finishRun({ provider: connect(later, []), messages, tools: program.tools.map(toTool) });
    // Without a new message, a transcript may end with the model's answer.
    if (branch.length > 0) await finishRun({ provider: connect(later, []), messages: branch });
  }
  const refused = services.flatMap(([title, { refusals }]) => refusals.map(({ message }) => `${title}: ${message}`));
  const requests = services.reduce((sum, [, service]) => sum + service.requests.length, 0);
  return { refused, errors, requests };
}

const question: Message = { role: "user", content: "Go on \ud83d." };

function toOptions(program: Program, provider: Provider): LoopOptions {
  const { maxIterations, contextItems, settings, system, choice, hiddenFrom } = program;
  return {
    provider,
    messages: [...toHistory(program, provider), question],
    ...toPolicies(program),
    ...(contextItems ? { contextItems: ["It is night."] } : {}),
    ...(system === "none" ? {} : { system: "Be brief." }),
    modelSettings: settings,
    limits: { maxIterations },
    timeouts: { firstChunkMs: 300, streamIdleMs: 300, settleMs: 10 },
    hooks: {
      prepareIteration: ({ iteration, tools }) => ({
        ...(system === "changing" ? { system: `Iteration ${iteration}.` } : {}),
        ...(iteration >= hiddenFrom ? { tools: [] } : {}),
        ...(choice === undefined || iteration > 0 || tools.length === 0
          ? {}
          : { toolChoice: choice === "named" ? { name: tools[0]?.name ?? "" } : choice }),
      }),
    },
  };
}

function toControl({ verbs }: Program, clock: TestClock): LoopControl {
  const control = createLoopControl();
  for (const { atMs, verb } of verbs)
    clock.setTimeout(() => (verb === "steer" || verb === "interrupt" ? control[verb]("Faster \udc00.") : control[verb]()), atMs);
  return control;
}
