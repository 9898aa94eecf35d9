// Guards one request: waits for the checks of its input, and passes its stream through the checks of the output. The checks of the input
// have their own journal step, so that a resumed run does not repeat them.

import {
  followSignal,
  type GuardrailRecord,
  iterateChunks,
  keepAlive,
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  type Provider,
  type RequestGuard,
  type Run,
  type StreamResult,
  wrapProvider,
  CancelScope,
  type CancelReason,
  type InputCheckAnswer,
  isRecorded,
  isReplayed,
  type Message,
  noteGuardrails,
  runStep,
  stepKey,
  type UserMessage,
  userTextOf,
} from "../core/entry-kit.ts";
import { askCheck } from "./ask-check.ts";
import type { InputCheck, OutputCheck, CheckedInput } from "./checks.ts";
import { OutputGate, StoppedStream } from "./output-gate.ts";

/**
 * Runs the checks, or replays their records. Returns undefined if the request has no new user messages. `modelKey` is the journal
 * key of the request. If an earlier execution without guardrails recorded the request, the input of the request is not checked.
 */
function checkInput(run: Run, modelKey: string, checks: readonly InputCheck[]): Promise<readonly GuardrailRecord[]> | undefined {
  const { messages, hasNewInput } = run.state;
  const newMessages = hasNewInput && checks.length > 0 ? findNewMessages(messages) : [];
  if (newMessages.length === 0) return undefined;
  const input = { text: newMessages.map(userTextOf).join("\n\n"), newMessages, messages: Object.freeze([...messages]) };
  return recordChecks(run, modelKey, { input, checks });
}

function findNewMessages(messages: readonly Message[]): readonly UserMessage[] {
  const last = messages.findLastIndex(({ role }) => role !== "user");
  return messages.slice(last + 1) as readonly UserMessage[];
}

interface Checking {
  readonly input: CheckedInput;
  readonly checks: readonly InputCheck[];
}

async function recordChecks(run: Run, modelKey: string, { input, checks }: Checking): Promise<readonly GuardrailRecord[]> {
  const key = stepKey(run.state, "input-check");
  const isPast = run.journal.replays === undefined ? isRecorded : isReplayed;
  if ((await isPast(run, modelKey)) && !(await isPast(run, key))) return [];
  const body = async (): Promise<InputCheckAnswer> => ({ kind: "checked", records: await askAll(run, { input, checks }) });
  return runStep({ key, kind: "hook", input: null, run: body }, run, ({ records }, live) => {
    noteGuardrails(run, records, { stage: "input", live });
    return records;
  });
}

/** Runs the checks at the same time. The first check that does not pass cancels the others, so that the run ends at once. */
async function askAll(run: Run, { input, checks }: Checking): Promise<readonly GuardrailRecord[]> {
  const scope = new CancelScope();
  const slot = { cancel: (cause: CancelReason): void => scope.cancel(cause) };
  run.scope.join(slot);
  if (run.scope.cause !== undefined) scope.cancel(run.scope.cause);
  const ask = async ({ name, check }: InputCheck): Promise<GuardrailRecord> => {
    const asked = await askCheck(run, { scope, name, mayRewrite: false, check: (context) => check(input, context) });
    if (asked.verdict !== "pass")
      scope.cancel({ kind: "abort", reason: new DOMException("The input was refused.", "AbortError") });
    return asked;
  };
  try {
    return await Promise.all(checks.map(ask));
  } finally {
    run.scope.leave(slot);
  }
}

export interface RequestChecks {
  readonly input: readonly InputCheck[];
  readonly output: readonly OutputCheck[];
}

export function guardRequest(run: Run, key: string, { input, output }: RequestChecks): RequestGuard | undefined {
  const checked = checkInput(run, key, input);
  // Without this handler, Node could report an unhandled rejection. The step of the request awaits `checked` and reports its error.
  checked?.catch(() => {});
  if (checked === undefined && output.length === 0) return undefined;
  const gate = output.length === 0 ? undefined : createGate(run, output);
  let stopped: { readonly stage: "input" | "output"; readonly record: GuardrailRecord } | undefined;
  const stop = (stage: "input" | "output", record: GuardrailRecord): void => void (stopped = { stage, record });
  return {
    checked,
    wrap: (provider) =>
      wrapProvider(provider, { stream: (request, call) => guardStream(provider, { request, call }, { checked, gate, stop }) }),
    judge: (result) => {
      const records = gate?.records ?? [];
      const whole = records.length === 0 ? result : { ...result, guardrails: records };
      return stopped === undefined ? whole : { ...whole, ...judgeStop(stopped.stage, stopped.record, result) };
    },
  };
}

function createGate(run: Run, checks: readonly OutputCheck[]): OutputGate {
  const { text, reasoning } = run.state.current;
  return new OutputGate({
    checks,
    before: { text, reasoning },
    ask: ({ name, check }, output) =>
      askCheck(run, { scope: run.scope, name, mayRewrite: true, check: (context) => check(output, context) }),
  });
}

/**
 * Returns the ending of a stream that a check has stopped. If the run was cancelled during the check, the ending of `result` is
 * kept.
 */
function judgeStop(
  stage: "input" | "output",
  record: GuardrailRecord,
  result: StreamResult,
): Pick<StreamResult, "status" | "reason" | "error"> {
  const { guardrail, verdict, reason, info, error } = record;
  if (verdict === "cancelled") return result;
  if (verdict === "failed" && error !== undefined) {
    return { status: "error", reason: { kind: "hook-failed", hook: `guardrails.${guardrail}`, error }, error };
  }
  return { status: "error", reason: { kind: `${stage}-guardrail`, guardrail, reason, info }, error: undefined };
}

interface Guarding {
  readonly checked: Promise<readonly GuardrailRecord[]> | undefined;
  readonly gate: OutputGate | undefined;
  stop(stage: "input" | "output", record: GuardrailRecord): void;
}

interface Requested {
  readonly request: ModelRequest;
  readonly call: ModelCall;
}

/**
 * Opens the stream of a provider. A wrapper that records chunks must not record unchecked text, so the wrapper applies the checks
 * itself, with `call.guard`.
 */
async function* guardStream(provider: Provider, { request, call }: Requested, guarding: Guarding): AsyncGenerator<ModelChunk> {
  const own = followSignal(call.signal);
  let isGuarded = false;
  const guard = (stream: AsyncIterable<ModelChunk>): AsyncIterable<ModelChunk> => {
    // If several wrappers record chunks, only the innermost wrapper applies the checks, because it calls `guard` first.
    if (isGuarded) return stream;
    isGuarded = true;
    return checkChunks(stream, call, guarding);
  };
  const { iteration, clock, timeouts, heartbeat, mayAsk, sending } = call;
  try {
    const inner: ModelCall = { signal: own.signal, iteration, clock, timeouts, heartbeat, mayAsk, sending, guard };
    const stream = provider.stream(request, inner);
    yield* guard(stream);
  } finally {
    own.release();
    own.abort(new DOMException("The stream is over.", "AbortError"));
  }
}

/** Yields the checked chunks of a stream. If a check refuses, the stream ends without a `finish` chunk. */
async function* checkChunks(
  stream: AsyncIterable<ModelChunk>,
  call: ModelCall,
  { checked, gate, stop }: Guarding,
): AsyncGenerator<ModelChunk> {
  const source = iterateChunks(stream);
  try {
    // The first chunk is read before the input checks are over, so that the request is sent at once.
    let next = readNext(source);
    const refused = await findRefusal(call, checked);
    if (refused !== undefined) return stop("input", refused);
    let failure: { readonly error: unknown } | undefined;
    for (;;) {
      const read = await next.catch((error: unknown) => void (failure = { error }));
      if (read === undefined || read.done === true) break;
      if (gate === undefined) yield read.value;
      else yield* await waitFor(call, gate.take(read.value));
      next = readNext(source);
    }
    // The stream may have failed or ended without a `finish` chunk. The text that it sent is still checked and shown.
    if (gate !== undefined) yield* await waitFor(call, gate.end());
    if (failure !== undefined) throw failure.error;
  } catch (error) {
    if (!(error instanceof StoppedStream)) throw error;
    stop("output", error.asked);
  } finally {
    source.return?.()?.then(undefined, () => {});
  }
}

/** Returns the record of the check that refused or failed, if any. The records of the other checks may say "cancelled". */
async function findRefusal(call: ModelCall, checked: Guarding["checked"]): Promise<GuardrailRecord | undefined> {
  if (checked === undefined) return undefined;
  const records = await waitFor(call, checked);
  const decided = records.find(({ verdict }) => verdict === "refuse" || verdict === "failed");
  return decided ?? records.find(({ verdict }) => verdict !== "pass");
}

/**
 * Reads the next chunk. The caller handles a rejection only after the checks. The empty handler prevents that Node reports an
 * unhandled rejection before the caller handles it.
 */
function readNext(source: AsyncIterator<ModelChunk>): Promise<IteratorResult<ModelChunk>> {
  const next = Promise.resolve(source.next());
  next.catch(() => {});
  return next;
}

/** Waits for a check. Meanwhile, the timeouts for a silent stream are paused, because each check has its own time limit. */
async function waitFor<T>(call: ModelCall, work: Promise<T>): Promise<T> {
  const letGo = keepAlive(call);
  try {
    return await work;
  } finally {
    letGo();
  }
}
