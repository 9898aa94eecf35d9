// Makes one model request: passes it through the middleware, streams the answer, and prepares the answer's calls.

import type { StreamResult, ToolChoice } from "../types/provider.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";
import { priceAttempts } from "../../shared/cost-of.ts";
import { frozenView } from "../../shared/transcript.ts";
import { streamOnce } from "./stream-once.ts";
import { createAdvice, prepareCall } from "./execute-tool-call.ts";
import { endingOfReason } from "../../shared/cancellation/cancel-scope.ts";
import { blame, chainHooks, endingOfFailure } from "./hooks.ts";
import { HookRecorder } from "./recorder.ts";
import { Activity, durabilityOf } from "./activity.ts";
import type { PlaceInRun } from "./early-calls.ts";
import { type Run, readTools } from "./run.ts";
import { endWith } from "./seam.ts";
import type { Answer, Ending, Next, RequestDraft, MessageWatch } from "../types/middleware.ts";
import { placeOf, stepOf } from "./journals.ts";
import { insideKey } from "../tools/inside-call.ts";
import { byName } from "../tools/registry.ts";
import { applyAnswer, waitFor } from "./state.ts";
import { none } from "./limits.ts";
import { hasLimitedCall } from "./next-step.ts";

/** Makes one request. Returns an ending only if the run ends because its middleware is waiting for an answer. */
export async function runIteration(run: Run): Promise<Ending | undefined> {
  const { state, options } = run;
  const { continuation } = state;
  const place = `${placeOf(state)}/${stepOf("request", continuation)}`;
  const activity = new Activity(run, { place, path: place, journal: run.journal });
  if (continuation === 0) {
    run.begun.clear();
    run.advice = createAdvice();
  }
  const { length } = state.messages;
  let streamed: Answer | undefined;
  const last: Next<RequestDraft, Answer> = (draft, signal) =>
    activity.inCore(async () => {
      run.draft = draft;
      streamed = await activity.record<Answer>(activity.keyOf("model"), async () => {
        const stopped = findStop(run);
        const made = stopped === undefined ? await stream(run, draft, signal) : endWith(stopped, draft.provider);
        const added = state.messages.slice(length);
        return added.length === 0 ? made : { ...made, added };
      });
      activity.isAnswered = true;
      run.isRequestReplayed = activity.isReplayed;
      if (run.isRequestReplayed && streamed.skipped !== true) {
        run.past?.showRecorded(streamed);
        await watchStream(run, draft, true)?.recorded(streamed);
      }
      return streamed;
    });
  const recorderOf = (name: string): HookRecorder => new HookRecorder(activity, name);
  const chain = chainHooks(run.hooks, "request", { last, recorderOf, activity });
  const { provider, system, toolChoice, modelSettings: settings } = options;
  const ask = async (): Promise<Answer> => {
    try {
      const messages = frozenView(state.messages);
      return await activity.watched(chain({ provider, messages, tools: readTools(run), system, toolChoice, settings }));
    } catch (error) {
      return endFailed(run, streamed, error);
    }
  };
  const end = await activity.settle(ask());
  if ("waits" in end) return waitFor(state, end.waits);
  const answer = end.value;
  await durabilityOf(run)?.recordRequestEnd(activity, answer, streamed);
  if (answer.adjustments !== undefined) sendAdjustments(run, answer.adjustments);
  run.meter.addUsage(answer);
  run.nesting?.endRequest();
  applyAnswer(state, answer, activity.spent);
  return undefined;
}

/**
 * Returns the ending of a run that was stopped before its request. A request that continues a message is still made, because part of that
 * message was already sent.
 */
function findStop({ scope: { cause }, state }: Run): Ending | undefined {
  if (cause === undefined || state.continuation > 0) return undefined;
  const ending = endingOfReason(cause);
  return ending.status === "stopped-by-user" ? ending : undefined;
}

/** Ends the run after a failed hook, or after a cancellation during a hook's step. Keeps the model's text. */
function endFailed({ options: { provider } }: Run, streamed: Answer | undefined, error: unknown): Answer {
  const ending = endingOfFailure(error);
  return streamed === undefined ? endWith(ending, provider) : { ...streamed, ends: ending };
}

/** Reports changes to the request, but only those not reported before, because most requests are changed in the same way. */
function sendAdjustments(run: Run, adjustments: NonNullable<Answer["adjustments"]>): void {
  const { told } = run;
  for (const { provider, model, changes } of adjustments) {
    const untold = changes.filter((change) => {
      const { size } = told;
      return told.add(JSON.stringify([provider, model, change])).size > size;
    });
    if (untold.length > 0) run.send("request-adjusted", { provider, model, changes: untold }, run.isRequestReplayed);
  }
}

export function sendIterationStart(run: Run, isReplayed: boolean): void {
  const { state, limits, session, draft } = run;
  const { iteration, continuation } = state;
  if (iteration === limits.softWarnIteration && continuation === 0 && session.surfaceUserErrors !== false)
    run.send("notice", { kind: "still-working" }, isReplayed);
  run.send("iteration-start", { continuation, ...(draft?.agent !== undefined && { agent: draft.agent }) }, isReplayed);
}

/** Streams one answer. Its record contains everything that is decided here. */
async function stream(run: Run, draft: RequestDraft, signal: AbortSignal | undefined): Promise<Answer> {
  const { state, clock, timeouts, alarm, events, options } = run;
  sendIterationStart(run, false);
  const { findableTools = [] } = draft;
  const isWhole = draft.tools === run.definitions && findableTools.length === 0;
  run.shown = isWhole ? run.registered : byName([...draft.tools, ...findableTools]);
  run.toolChoice = toRestriction(draft.toolChoice) ?? toRestriction(draft.enforced);
  const scope = run.scope.within(signal);
  const { current, continuation } = state;
  const given = state.givenMessages;
  const { messages, tools, system, toolChoice, settings, compactAt, output } = draft;
  const request = {
    messages,
    tools,
    system,
    // Requests an answer without tools. If the model still makes a call, its outcome is "limit".
    toolChoice: run.meter.maxToolCalls < none && hasLimitedCall(state, none) ? "none" : toolChoice,
    settings,
    compactAt,
    output,
    iteration: state.iteration,
    continuationToken: continuation === 0 ? undefined : state.answers.at(-1)?.token,
    transcript: { messages: frozenView(state.messages), given },
  };
  const result = await streamOnce(request, {
    provider: run.around(draft.provider),
    clock,
    timeouts,
    scope,
    alarm,
    events,
    heldIds: state.heldIds,
    places: run.places,
    carried: continuation === 0 ? undefined : { text: current.text.trim() !== "", callCount: current.calls.length },
    pricing: options.pricing,
    watch: watchStream(run, draft),
    findSpent: (attempts) => {
      const { lastCostUSD = state.lastCostUSD, ...spent } = priceAttempts(attempts, state.iteration, { ...options, events });
      return run.meter.findSpent(lastCostUSD, spent, state.isGranted);
    },
  });
  if (scope !== run.scope) scope.release();
  const chosen = run.toolChoice === undefined ? result : { ...result, toolChoice: run.toolChoice };
  return prepareCalls(run, withShown(run, chosen), draft);
}

function withShown(run: Run, answer: Answer): Answer {
  return run.durability?.withShown(run, answer) ?? answer;
}

function toRestriction(choice: ToolChoice | undefined): StreamResult["toolChoice"] {
  if (typeof choice === "object") return { name: choice.name };
  return choice === "none" ? choice : undefined;
}

/** Returns the functions that hooks use to watch a message as it streams. `isRecorded` is true if the message is replayed. */
function watchStream(run: Run, draft: RequestDraft, isRecorded = false): Required<MessageWatch> | undefined {
  let failed: Error | undefined;
  const at: PlaceInRun = { [insideKey]: { run }, isRecorded };
  const each = (ask: (watch: MessageWatch) => unknown): Promise<readonly unknown[]> =>
    Promise.all(
      watches.map(async ({ name, watch }) => {
        const hook = `${name}.stream`;
        try {
          return await run.watch?.limit(hook, ask(watch));
        } catch (error) {
          failed ??= blame(error, hook);
          return undefined;
        }
      }),
    );
  const watches = run.hooks.flatMap(({ name, stream: begin }) => {
    const watch = begin?.(draft, at);
    return watch === undefined ? [] : [{ name, watch }];
  });
  if (watches.length === 0) return undefined;
  return {
    call: (call) => void each((watch) => watch.call?.(call)),
    discarded: () => void each((watch) => watch.discarded?.()),
    ended: async (calls) => {
      const fields = await each((watch) => watch.ended?.(calls));
      return Object.assign({}, ...fields, failed && { ends: endingOfFailure(failed) }) as Partial<Answer>;
    },
    recorded: async (answer) => {
      await each((watch) => watch.recorded?.(answer));
      if (failed !== undefined) throw failed;
    },
  };
}

/**
 * Validates the calls in a complete message. Refused calls become part of the answer, so that a replay refuses the same calls.
 * `maxToolCalls` lets the first calls run. The calls beyond it are refused before a person is asked about them.
 */
async function prepareCalls(run: Run, answer: Answer, { allowedTools }: RequestDraft): Promise<Answer> {
  const prepared = new Map<string, unknown>();
  run.prepared = prepared;
  if (answer.status !== "tool-calls") return answer;
  const { continuation, current } = run.state;
  const [calls, early] = continuation === 0 ? [answer.calls, []] : [[...current.calls, ...answer.calls], current.early];
  const { eagerOutcomes = [] } = answer;
  const ran = new Set([...early, ...eagerOutcomes].map(({ call }) => call.callId));
  // The message is complete, so an interrupt now comes too late.
  run.scope.withdrawInterrupt();
  const allowed = allowedTools && new Set(allowedTools);
  const called = calls.filter(({ callId }) => !ran.has(callId));
  const checked = await Promise.all(called.map((call) => Promise.resolve(prepareCall(call, run, allowed))));
  const refusals: ToolOutcome[] = [];
  let left = run.meter.toolCallsLeft;
  for (const one of checked) {
    if (one.kind !== "ready") refusals.push(one);
    else if (left < 1) refusals.push({ call: one.call, durationMs: 0, kind: "limit" });
    else prepared.set(one.call.callId, one.args);
    if (one.kind === "ready") left -= 1;
  }
  return refusals.length === 0 ? answer : { ...answer, refusals };
}
