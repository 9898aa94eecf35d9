// Runs a call's tool once, however often the run is executed: records that the tool begins, and what came of it.

import type { Json } from "../../types/common.ts";
import type { Outcome } from "../../types/middleware.ts";
import type { OutsideResult } from "../../types/middleware-options.ts";
import type { NestedSpending } from "../../types/tool-outcome.ts";
import { sumSpending } from "../../../shared/count-usage.ts";
import { isSameJson } from "../../../shared/json.ts";
import { concludeOutside, wasDispatched } from "../../../shared/to-outcome.ts";
import { isDurable } from "../../tools/inside-call.ts";
import { findTool } from "../../tools/registry.ts";
import { type Activity, type GivenCall, pastOf } from "../activity.ts";
import {
  addNested,
  admit,
  awaitTurn,
  endTool,
  factsOf,
  mayNotBegin,
  portsOf,
  prepare,
  runPlain,
  sendEnd,
  sendStart,
} from "../perform-call.ts";
import { executeToolCall } from "../execute-tool-call.ts";
import type { Run } from "../run.ts";
import { openWait } from "./open-wait.ts";

export interface Begun {
  readonly token: string;
  /** True for a durable tool, which may leave waits open when it ends. */
  readonly durable?: true | undefined;
  readonly refused?: Outcome | undefined;
}

export async function runRecorded(activity: Activity, call: GivenCall): Promise<Outcome> {
  const { run, journal } = activity;
  const begunKey = activity.keyOf("begun");
  const outcomeKey = activity.keyOf("outcome");
  await awaitTurn(activity, call);
  const past = pastOf(run);
  // Reuses a recorded refusal even if the middleware would now allow the call, because the model has already been told that the call did
  // not run.
  const ended = past && (await activity.inCore(async () => past.findEnd(activity, [outcomeKey, begunKey])));
  if (ended !== undefined) return (activity.made = ended);
  if (isDurable(run, call.made.name)) return (activity.made = await runDurable(activity, call, { begunKey, outcomeKey }));
  let isLive = false;
  const record = ({ token }: Begun): Outcome | PromiseLike<Outcome> =>
    activity.record(outcomeKey, () => {
      // A durable engine may run this body twice. `isLive` is then already true, so the tool may have run before.
      const mayHaveRun = isLive || token !== run.token;
      isLive = true;
      return mayHaveRun ? runAgain(activity, call) : runPlain(activity, call);
    });
  // Records this execution's token before the tool starts. A token without an outcome tells a replay that the tool may have run.
  const begin = async (): Promise<Outcome> => record(await activity.record(begunKey, () => ({ token: run.token })));
  const outcome = await activity.inCore(journal.durable === true ? begin : () => record(run));
  activity.made = outcome;
  if (!isLive) noteReplayed(run, outcome);
  if (outcome.kind !== "deferred") return outcome;
  activity.hasBegun = true;
  // Counts the nested run's spending now, because the call may still have to wait for its result.
  if (outcome.nested !== undefined) activity.spent.push(outcome.nested);
  sendEnd(run, outcome, !isLive);
  return (activity.made = await waitForResult(activity, outcome));
}

/** Runs a tool that an earlier execution may have run, if that is safe. */
async function runAgain(activity: Activity, call: GivenCall): Promise<Outcome> {
  const { run } = activity;
  const { replay, eager } = findTool(run.registry, call.made.name) ?? {};
  const isCut = mayNotBegin(run, call);
  if (!isCut && (replay === "safe" || eager === true)) return runPlain(activity, call);
  if (!isCut) run.meter.add({ toolCalls: 1 });
  // Marks the start event as replayed, because the interrupted execution has already sent it.
  sendStart(run, call.made, true);
  return { ...factsOf(call), kind: "interrupted" };
}

/** Counts a recorded call, and sends its start event. */
export function noteReplayed(run: Run, outcome: Outcome): void {
  if (!wasDispatched(outcome.kind)) return;
  sendStart(run, outcome.call, true);
  const { usage, costUSD } = outcome.nested ?? {};
  run.meter.add({
    toolCalls: 1 + (outcome.nested?.toolCallsExecuted ?? 0),
    tokens: usage?.totalTokens,
    costUSD,
    costUnknown: outcome.nested !== undefined && costUSD === undefined,
  });
}

/** Handles a call whose tool has run but whose result comes from outside. */
async function waitForResult(activity: Activity, { call, durationMs, approvedArgs, ...outcome }: Outcome): Promise<Outcome> {
  const { name, args } = call;
  const fromPage = "fromPage" in outcome && outcome.fromPage === true ? { fromPage: true } : {};
  const id = activity.run.path + activity.unique(activity.path, "#");
  const wait = { id, what: "result", facts: { name, args, ...fromPage } };
  const given = await activity.inCore(() => openWait<OutsideResult | null>(activity, wait, {}));
  return { call, durationMs, approvedArgs, ...concludeOutside(given as OutsideResult) };
}

interface DurableKeys {
  readonly begunKey: string;
  readonly outcomeKey: string;
}

/** Runs a durable tool, whose code runs again on each resume. Once its outcome is recorded, the code only repeats its recorded steps. */
async function runDurable(activity: Activity, call: GivenCall, { begunKey, outcomeKey }: DurableKeys): Promise<Outcome> {
  const { run } = activity;
  let isLive = false;
  const begun = await activity.inCore(() =>
    activity.record<Begun>(begunKey, async () => {
      isLive = true;
      const ready = await admit(activity, call, portsOf(activity, call.signal));
      return { token: run.token, durable: true, ...(ready.kind !== "ready" && { refused: ready }) };
    }),
  );
  if (begun.refused !== undefined) return begun.refused;
  activity.hasBegun = true;
  if (!isLive) run.meter.add({ toolCalls: 1 });
  sendStart(run, call.made, !isLive);
  const mark = activity.spent.length;
  const past = isLive ? undefined : pastOf(run);
  const replay = (fork: Activity): Promise<Outcome> => execute(fork, { ...call, signal: undefined });
  const recorded = past && (await inTool(activity, () => past.recallOutcome(activity, outcomeKey, replay)));
  if (recorded !== undefined) return recorded;
  const made = await inTool(activity, () => execute(activity, call));
  // An earlier execution began this call, so it may have had effects and counts as "interrupted" instead of "not-run".
  const outcome: Outcome = made.kind === "not-run" && !isLive ? { ...made, kind: "interrupted" } : made;
  const whole = await addNested(activity, outcome, mark);
  return activity.inCore(() => activity.record<Outcome>(outcomeKey, () => whole));
}

/** Runs the tool's code. This time does not count against the time limit for hooks. */
async function inTool<T>(activity: Activity, work: () => Promise<T>): Promise<T> {
  activity.isInTool = true;
  try {
    return await work();
  } finally {
    activity.isInTool = false;
    activity.run.watch?.note(activity);
  }
}

/** Runs a durable tool's code from its beginning. */
async function execute(activity: Activity, call: GivenCall): Promise<Outcome> {
  const ports = portsOf(activity, call.signal);
  const ready = await prepare(activity, call, ports);
  return ready.kind === "ready" ? endTool(activity, await executeToolCall(ready, ports)) : ready;
}

/** The record of a call after middleware has changed its outcome or spending, for readers that do not run the middleware. */
export type EndRecord = Outcome & { readonly spent?: NestedSpending | undefined };

export function recordCallEnd(activity: Activity, outcome: Outcome): PromiseLike<unknown> | undefined {
  const { run, place, journal } = activity;
  const end = findChange(activity, outcome);
  return end && Promise.resolve(run.step<EndRecord>(`${place}/ended`, () => end, { journal }));
}

/** Returns the record of what middleware changed, or undefined if it changed nothing. */
function findChange({ spent: all, made }: Activity, outcome: Outcome): EndRecord | undefined {
  const spent = sumSpending(all);
  if (spent !== undefined) return { ...outcome, spent };
  return made !== undefined && isSameJson(outcome as unknown as Json, made as unknown as Json) ? undefined : outcome;
}
