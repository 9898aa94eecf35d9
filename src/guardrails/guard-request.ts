// Guards one request: waits for the checks of its input, and passes its stream through the checks of the output.

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
} from "../core/entry-kit.ts";
import { askCheck } from "./ask-check.ts";
import { checkInput } from "./check-input.ts";
import type { InputCheck, OutputCheck } from "./checks.ts";
import { OutputGate, StoppedStream } from "./output-gate.ts";

export interface RequestChecks {
  readonly input: readonly InputCheck[];
  readonly output: readonly OutputCheck[];
}

export function guardRequest(run: Run, key: string, { input, output }: RequestChecks): RequestGuard | undefined {
  const checked = checkInput(run, key, input);
  // The step of the request reports the rejection.
  checked?.catch(() => {});
  if (checked === undefined && output.length === 0) return undefined;
  const gate = output.length === 0 ? undefined : createGate(run, output);
  let stopped: { readonly stage: "input" | "output"; readonly record: GuardrailRecord } | undefined;
  const stop = (stage: "input" | "output", record: GuardrailRecord): void => void (stopped = { stage, record });
  return {
    checked,
    wrap: (provider) => wrapProvider(provider, { checked, gate, stop }),
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

/** Returns the ending of a stream that a check stopped. If the run was cancelled during the check, the stream keeps its ending. */
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

function wrapProvider(provider: Provider, guarding: Guarding): Provider {
  return { ...provider, stream: (request, call) => guardStream(provider, { request, call }, guarding) };
}

interface Requested {
  readonly request: ModelRequest;
  readonly call: ModelCall;
}

/** Opens the stream of a provider. A wrapper that records chunks applies the checks itself, before it records. */
async function* guardStream(provider: Provider, { request, call }: Requested, guarding: Guarding): AsyncGenerator<ModelChunk> {
  const own = followSignal(call.signal);
  let isGuarded = false;
  const guard = (stream: AsyncIterable<ModelChunk>): AsyncIterable<ModelChunk> => {
    // Of several wrappers that record chunks, the innermost one applies the checks.
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

/** Yields the checked chunks of a stream. Ends without a `finish` chunk if a check refused. */
async function* checkChunks(
  stream: AsyncIterable<ModelChunk>,
  call: ModelCall,
  { checked, gate, stop }: Guarding,
): AsyncGenerator<ModelChunk> {
  const source = iterateChunks(stream);
  try {
    // The request is sent without waiting for the checks.
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
    // A stream that fails or has no `finish` chunk ended too early, but its text is kept.
    if (gate !== undefined) yield* await waitFor(call, gate.end());
    if (failure !== undefined) throw failure.error;
  } catch (error) {
    if (!(error instanceof StoppedStream)) throw error;
    stop("output", error.asked);
  } finally {
    source.return?.()?.then(undefined, () => {});
  }
}

/** Returns the check that refused or failed. It has cancelled the others. */
async function findRefusal(call: ModelCall, checked: Guarding["checked"]): Promise<GuardrailRecord | undefined> {
  if (checked === undefined) return undefined;
  const records = await waitFor(call, checked);
  const decided = records.find(({ verdict }) => verdict === "refuse" || verdict === "failed");
  return decided ?? records.find(({ verdict }) => verdict !== "pass");
}

/** Reads the next chunk. Its rejection is handled later, after the checks. */
function readNext(source: AsyncIterator<ModelChunk>): Promise<IteratorResult<ModelChunk>> {
  const next = Promise.resolve(source.next());
  next.catch(() => {});
  return next;
}

/** Waits for a check. Timeouts of a silent stream are paused, because each check has its own time limit. */
async function waitFor<T>(call: ModelCall, work: Promise<T>): Promise<T> {
  const letGo = keepAlive(call);
  try {
    return await work;
  } finally {
    letGo();
  }
}
