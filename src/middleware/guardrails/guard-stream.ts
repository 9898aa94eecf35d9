// Passes a provider's stream through the checks. Releases nothing until the input checks have passed.

import { dropIterator } from "../../shared/promises.ts";
import { followSignal } from "../../shared/signals.ts";
import { iterateChunks, keepAlive, wrapProvider } from "../../core/kit.ts";
import type { GuardrailRecord } from "../../core/types/guardrails.ts";
import type { ModelCall, ModelChunk, ModelRequest, Provider } from "../../core/index.ts";
import { type OutputGate, StoppedStream } from "./output-gate.ts";

/** The checks for the newest request. */
export interface Guarding {
  /** Resolves to the input checks' records. Undefined if the request has no new input. */
  readonly checked: Promise<readonly GuardrailRecord[]> | undefined;
  /** Creates the gate for the output. Undefined if there are no output checks. */
  readonly createGate: ((call: ModelCall) => OutputGate) | undefined;
}

/** Wraps a provider. `find` returns the checks for the newest request. */
export function guardProvider(provider: Provider, find: () => Guarding): Provider {
  return wrapProvider(provider, { stream: (request, call) => guardStream(provider, { request, call }, find()) });
}

interface Requested {
  readonly request: ModelRequest;
  readonly call: ModelCall;
}

/**
 * Opens a provider's stream and applies the checks to it, unless an inner wrapper does so with `call.guard`. A wrapper that records chunks
 * applies them itself, because it must not record unchecked text.
 */
async function* guardStream(provider: Provider, { request, call }: Requested, guarding: Guarding): AsyncGenerator<ModelChunk> {
  const own = followSignal(call.signal);
  let isGuarded = false;
  const guard = (stream: AsyncIterable<ModelChunk>): AsyncIterable<ModelChunk> => {
    // The innermost wrapper calls `guard` first and applies the checks, so outer wrappers must not apply them again.
    if (isGuarded) return stream;
    isGuarded = true;
    return checkChunks(stream, call, guarding);
  };
  const { iteration, clock, timeouts, heartbeat, mayAsk, sending, note } = call;
  try {
    const inner: ModelCall = { signal: own.signal, iteration, clock, timeouts, heartbeat, mayAsk, sending, note, guard };
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
  { checked, createGate }: Guarding,
): AsyncGenerator<ModelChunk> {
  const source = iterateChunks(stream);
  try {
    // Requests the first chunk before the input checks finish, so that they do not delay the request.
    const first = readNext(source);
    if (checked !== undefined && !(await waitFor(call, checked)).every(hasPassed)) return;
    const gate = createGate?.(call);
    const chunks = followChunks(source, first);
    yield* gate === undefined ? chunks : passThrough(chunks, gate, call);
  } catch (error) {
    if (!(error instanceof StoppedStream)) throw error;
  } finally {
    dropIterator(source);
  }
}

async function* followChunks(
  source: AsyncIterator<ModelChunk>,
  first: Promise<IteratorResult<ModelChunk>>,
): AsyncGenerator<ModelChunk> {
  for (let read = await first; read.done !== true; read = await source.next()) yield read.value;
}

async function* passThrough(chunks: AsyncIterable<ModelChunk>, gate: OutputGate, call: ModelCall): AsyncGenerator<ModelChunk> {
  let failure: { readonly error: unknown } | undefined;
  const source = chunks[Symbol.asyncIterator]();
  for (;;) {
    const read = await source.next().catch((error: unknown) => void (failure = { error }));
    if (read === undefined || read.done === true) break;
    yield* await waitFor(call, gate.take(read.value));
  }
  // Checks and shows the text so far even if the stream failed or ended without a `finish` chunk.
  yield* await waitFor(call, gate.end());
  if (failure !== undefined) throw failure.error;
}

export function hasPassed({ verdict }: GuardrailRecord): boolean {
  return verdict === "pass" || verdict === "rewrite";
}

/**
 * Reads the next chunk. The caller handles a rejection only after the checks, so an empty handler keeps Node from reporting it as
 * unhandled before that.
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
