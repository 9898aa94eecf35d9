// A run with a plan. It is drained, waits for an approval, and its process may die at any point.

import {
  approve,
  createLoopControl,
  type Journal,
  type LoopOptions,
  type LoopResult,
  type ModelRequest,
  runToolLoop,
  type Tool,
} from "turnwright";
import { withPlanner } from "turnwright/middleware";
import { createMockProvider, createTestClock, type MockMessage, recordEvents, text } from "turnwright/testing";
import { expect } from "vitest";
import { Crash } from "../loop/durable-store.ts";
import { tool } from "../loop/play.ts";
import { asksForPlan, command, execute, respond, shownTo } from "./plan-stage.ts";

const rounds: readonly MockMessage[] = [
  execute(command("slow", { tool_kwargs: { n: 1 } }), command("quick", { tool_kwargs: { n: 2 } }), command("broken")),
  execute(command("pay", { tool_kwargs: { n: 3 } }), command("quick", { tool_kwargs: { n: 4 } })),
  respond,
];

/** Every process must return the same message for the same request. */
function turnFor(request: ModelRequest): MockMessage | undefined {
  return asksForPlan(request) ? rounds[Number(shownTo(request)["round_index"])] : text("Done.");
}

export interface Life {
  readonly journal: Journal;
  readonly answers?: LoopOptions["answers"];
  readonly traits?: Partial<Tool>;
  /** True if the process drains the run in the first iteration. */
  readonly drains?: boolean;
}

export interface Lived {
  readonly result: LoopResult | Crash;
  readonly ran: readonly string[];
  readonly asked: readonly number[];
}

export async function live({ journal, answers, traits = {}, drains = false }: Life): Promise<Lived> {
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
    // The test clock is faster than a real disk, so a time limit for the journal would end too early.
    timeouts: { journalMs: Infinity },
    middleware: [approve(({ name }) => ({ kind: name === "pay" ? "ask" : "approve" }))],
    ...(answers === undefined ? {} : { answers }),
  }).catch((error: unknown) => {
    if (error instanceof Crash) return error;
    throw error;
  });
  const progress = { isOver: false };
  const onEnd = (): void => void (progress.isOver = true);
  ended.then(onEnd, onEnd);
  // A file journal takes real time, so the clock must advance repeatedly.
  while (!progress.isOver) await clock.runAll();
  const result = await ended;
  expect([clock.pending, model.active]).toEqual([0, 0]);
  return { result, ran, asked: model.requests.map(({ iteration }) => iteration) };
}

export async function liveOn(open: (life: number) => Journal, more: Pick<Life, "traits"> = {}): Promise<readonly Lived[]> {
  const lives: Lived[] = [];
  let answers: LoopOptions["answers"];
  for (let index = 0; index < 8; index += 1) {
    const lived = await live({ ...more, journal: open(index), drains: index === 0, answers });
    lives.push(lived);
    const { result } = lived;
    if (result instanceof Crash) continue;
    if (result.reason.kind === "approval-required") answers = { call_i1_0: { kind: "approve" } };
    else if (result.reason.kind !== "drained") return lives;
  }
  throw new Error("The run has not ended.");
}

/** Returns the parts of a result that must be the same, however often a process died. */
export function comesTo(lives: readonly Lived[]): object {
  const result = lives.at(-1)?.result;
  if (result === undefined || result instanceof Crash) throw new Error("The run has not ended.");
  const { text: said, reason, messages, usage, iterations, functionHistory } = result;
  const history = functionHistory.map(({ functionCall, outcome }) => [functionCall.id, outcome]);
  return JSON.parse(JSON.stringify({ said, reason, messages, usage, iterations, history })) as object;
}
