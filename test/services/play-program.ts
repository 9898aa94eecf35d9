// Runs a random program against strict services, on a test clock.

import {
  type CallDecision,
  createLoopControl,
  type LoopControl,
  type LoopOptions,
  type LoopResult,
  maskResults,
  memoryJournal,
  type Message,
  type Provider,
  runToolLoop,
} from "turnwright";
import type { MemoryJournal } from "turnwright/kit";
import type { WaitingCall } from "turnwright/kit";
import {
  createTestClock,
  endEarly,
  fail,
  finish,
  type MockMessage,
  type MockPart,
  reasoning,
  stall,
  type StrictService,
  strictService,
  type TestClock,
  text,
  toolCall,
  wait,
} from "turnwright/testing";
import type { StrictRequest } from "../../src/testing/strict/answer-request.ts";
import { allRows, titleOf } from "./connect-strict.ts";
import { question, toOptions, wrap } from "./program-options.ts";
import { argsFor, toTool } from "./program-tools.ts";
import type { Program, ScriptedMessage } from "./random-program.ts";
import { toServerParts } from "./server-parts.ts";
import { type MoveCounts, watchRequests, watchRun } from "./watch-moves.ts";

const ends: { readonly [End in ScriptedMessage["end"]]: readonly MockPart[] } = {
  usual: [],
  length: [finish("length")],
  early: [endEarly()],
  silent: [stall()],
  busy: [],
};

/** The message of the model for a request. A request without usable tools gets text. */
function toMessage(script: ScriptedMessage | undefined, request: StrictRequest, id: string): MockMessage {
  if (script?.end === "busy") return fail({ status: 503, message: "Overloaded" });
  const calls = script === undefined ? [] : toCalls(script.calls, request);
  const server = toServerParts(request, { move: script?.server ?? "none", id, hasCalls: calls.length > 0 });
  if (script === undefined) return [...server.first, ...server.before, text("Done.")];
  const { reasoning: thought, text: said, end } = script;
  const begin = [wait(20), ...server.first, ...(thought === "" ? [] : [reasoning(thought)])];
  const words = said === "" && calls.length > 0 ? [] : [text(said === "" ? "Done." : said)];
  // A message that a service pauses ends with the call of its tool.
  if (server.end.length > 0) return [...begin, ...words, ...server.before, ...server.end];
  return [...begin, ...server.before, ...words, ...calls, ...ends[end]];
}

function toCalls(calls: ScriptedMessage["calls"], { tools, body }: StrictRequest): readonly MockPart[] {
  if (tools.length === 0 || body["tool_choice"] === "none") return [];
  return calls.map(({ tool, args, fragments }) => {
    const name = tools[tool % tools.length] ?? "";
    return toolCall(name, {}, { rawArgs: argsFor[name] ?? args, fragments });
  });
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

/** Decides about each waiting call, and answers each question. */
function toDecisions({ decides }: Program, waiting: readonly WaitingCall[]): { readonly [id: string]: CallDecision } {
  const decide = (waitsFor: string | undefined): CallDecision => {
    if (waitsFor === "result")
      return decides === "deny" ? { kind: "failed", error: "No \ud83d." } : { kind: "result", result: "Oslo \udc00" };
    if (decides === "modify") return { kind: "modify", args: { at: "edited" } };
    return decides === "deny" ? { kind: "deny", reason: "No \ud83d." } : { kind: "approve" };
  };
  return Object.fromEntries(waiting.map(({ id, waitsFor }) => [id, decides === "ask" ? { kind: "ask" } : decide(waitsFor)]));
}

export interface Played {
  /** Refused requests, as "service: message". */
  readonly refused: readonly string[];
  /** Other errors about a request. A new file of the user that the service cannot take is an expected error. */
  readonly errors: readonly string[];
  readonly requests: number;
}

/** Adds to `moves` what happened. */
export async function playProgram(program: Program, moves: MoveCounts): Promise<Played> {
  const clock = createTestClock();
  const services: (readonly [title: string, service: StrictService])[] = [];
  const errors: string[] = [];
  let messages = 0;

  function connect(index: number, script: readonly ScriptedMessage[]): Provider {
    const row = allRows[index % allRows.length];
    if (row === undefined) throw new Error("There are no services.");
    const answers = (request: StrictRequest, at: number): MockMessage => {
      messages += 1;
      return toMessage(script[at], request, `m${messages}`);
    };
    const service = strictService(row.kind, { clock, oddities: program.oddities, answers });
    services.push([titleOf(row), service]);
    return row.connect(service);
  }

  async function finishRun(options: LoopOptions): Promise<LoopResult> {
    const watch = watchRun(moves);
    const result = await settle(runToolLoop({ clock, events: watch.events, ...options }), clock);
    watch.end(result);
    const { reason } = result;
    if (
      reason.kind === "provider-error" &&
      reason.error.code === "bad-request" &&
      !reason.error.message.includes("cannot be sent to")
    )
      errors.push(reason.error.message);
    return result;
  }

  /** Decides about the calls for which a run waits, and goes on with it. */
  async function decideCalls(options: LoopOptions, suspended: LoopResult): Promise<LoopResult> {
    let result = suspended;
    for (let round = 0; round < 3 && program.decides !== "leave" && "calls" in result.reason; round += 1)
      result = await finishRun({ ...options, answers: toDecisions(program, result.reason.calls) });
    return result;
  }

  const [first, second, later] = program.rows;
  const inner = (): Provider => connect(second, program.script);
  const provider = wrap(program, connect(first, program.script), inner);
  const options = { ...toOptions(program, provider, inner), journal: memoryJournal() };
  let result = await decideCalls(options, await finishRun({ ...options, control: toControl(program, clock) }));
  if (program.resumeAt !== undefined) {
    const resumed = { ...options, journal: cut(options.journal, program.resumeAt) };
    result = await decideCalls(resumed, await finishRun(resumed));
  }
  const branches = program.forks ? [result.messages, beforeLast(result.messages)] : [result.messages];
  for (const branch of branches) {
    const continued = [...branch, question];
    await finishRun({ provider: connect(first, []), messages: continued });
    const tools = program.tools.map((name) => toTool(name, inner));
    await finishRun({ provider: connect(later, []), messages: continued, tools, middleware: [maskResults()] });
    // Without a new message, a transcript may end with the model's answer.
    if (branch.length > 0) await finishRun({ provider: connect(later, []), messages: branch });
  }
  for (const [, service] of services) watchRequests(service.requests, moves);
  const refused = services.flatMap(([title, { refusals }]) => refusals.map(({ message }) => `${title}: ${message}`));
  const requests = services.reduce((sum, [, service]) => sum + service.requests.length, 0);
  return { refused, errors, requests };
}

function toControl({ verbs }: Program, clock: TestClock): LoopControl {
  const control = createLoopControl();
  for (const { atMs, verb } of verbs)
    clock.setTimeout(() => (verb === "steer" || verb === "interrupt" ? control[verb]("Faster \udc00.") : control[verb]()), atMs);
  return control;
}
