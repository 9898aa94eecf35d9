// A planned run of two rounds that is drained and awaits approval, and whose process may die at any point.

import {
  createLoopControl,
  type Journal,
  type LoopOptions,
  type LoopResult,
  type ModelRequest,
  runToolLoop,
  type Tool,
} from "turnwright";
import { withPlanner } from "turnwright/plan";
import { createMockProvider, createTestClock, type MockMessage, recordEvents, text } from "turnwright/testing";
import { expect } from "vitest";
import { Crash } from "../loop/durable-store.ts";
import { tool } from "../loop/play.ts";
import { asksForPlan, command, execute, respond, shownTo } from "./plan-stage.ts";

/** The plan of each round. */
const rounds: readonly MockMessage[] = [
  execute(command("slow", { tool_kwargs: { n: 1 } }), command("quick", { tool_kwargs: { n: 2 } }), command("broken")),
  execute(command("pay", { tool_kwargs: { n: 3 } }), command("quick", { tool_kwargs: { n: 4 } })),
  respond,
];

/** Returns the message of the model for a request. It does not depend on the process. */
function turnFor(request: ModelRequest): MockMessage | undefined {
  return asksForPlan(request) ? rounds[Number(shownTo(request)["round_index"])] : text("Done.");
}

/** The options of one process. */
export interface Life {
  readonly journal: Journal;
  readonly decisions?: LoopOptions["decisions"];
  readonly traits?: Partial<Tool>;
  /** Drains in the first iteration. */
  readonly drains?: boolean;
}

/** The result of one process. */
export interface Lived {
  readonly result: LoopResult | Crash;
  /** The tools that ran, by their keys, and the iterations that asked the model. */
  readonly ran: readonly string[];
  readonly asked: readonly number[];
}

/** Lets one process run until it ends or dies. */
export async function live({ journal, decisions, traits = {}, drains = false }: Life): Promise<Lived> {
  const clock = createTestClock();
  const control = createLoopControl();
  const { emitter } = recordEvents();
  if (drains) emitter.on("iteration-start", ({ iteration }) => void (iteration === 0 && control.drain()));
  const ran: string[] = [];
  const note = ({ idempotencyKey }: { readonly idempotencyKey: string }): void => void ran.push(idempotencyKey);
  const later = (value: unknown): Promise<unknown> => new Promise((resolve) => void clock.setTimeout(() => resolve(value), 100));
  const tools = [
    tool("slow", (args, context) => (note(context), later(args)), traits),
    tool("quick", (args, context) => (note(context), args), traits),
    tool("broken", (_, context) => (note(context), Promise.reject(new Error("out of order"))), traits),
    tool("pay", (args, context) => (note(context), args), traits),
  ];
  const model = createMockProvider(turnFor);
  const ended = runToolLoop({
    provider: withPlanner(model),
    messages: [{ role: "user", content: "Go." }],
    tools,
    clock,
    control,
    events: emitter,
    runId: "planned",
    journal,
    // The test clock runs ahead of a real disk.
    timeouts: { journalMs: Infinity },
    policies: { approve: ({ name }) => ({ kind: name === "pay" ? "ask" : "approve" }) },
    ...(decisions === undefined ? {} : { decisions }),
  }).catch((error: unknown) => {
    if (error instanceof Crash) return error;
    throw error;
  });
  const progress = { isOver: false };
  const onEnd = (): void => void (progress.isOver = true);
  ended.then(onEnd, onEnd);
  // Repeated, because a file journal takes real time.
  while (!progress.isOver) await clock.runAll();
  const result = await ended;
  expect([clock.pending, model.active]).toEqual([0, 0]);
  return { result, ran, asked: model.requests.map(({ iteration }) => iteration) };
}

/** The processes of a run, one after another, until it is answered. `open` gives the journal of each. */
export async function liveOn(open: (life: number) => Journal, more: Pick<Life, "traits"> = {}): Promise<readonly Lived[]> {
  const lives: Lived[] = [];
  let decisions: LoopOptions["decisions"];
  for (let index = 0; index < 8; index += 1) {
    const lived = await live({ ...more, journal: open(index), drains: index === 0, decisions });
    lives.push(lived);
    const { result } = lived;
    if (result instanceof Crash) continue;
    if (result.reason.kind === "approval-required") decisions = { call_i1_0: { kind: "approve" } };
    else if (result.reason.kind !== "drained") return lives;
  }
  throw new Error("The run has not ended.");
}

/** Returns the parts of a result that must be equal, whatever happened to the processes. */
export function comesTo(lives: readonly Lived[]): object {
  const result = lives.at(-1)?.result;
  if (result === undefined || result instanceof Crash) throw new Error("The run has not ended.");
  const { text: said, reason, messages, usage, iterations, functionHistory } = result;
  const history = functionHistory.map(({ functionCall, outcome }) => [functionCall.id, outcome]);
  return JSON.parse(JSON.stringify({ said, reason, messages, usage, iterations, history })) as object;
}
