// The scripted models of the benchmarks.

/** @typedef {import("../../src/core/types/provider.ts").ModelChunk} ModelChunk */

const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120 };

/**
 * A model that calls the tool `forecast` once in each iteration, and answers in the last iteration.
 *
 * @param {number} iterations
 * @returns {(iteration: number) => AsyncGenerator<ModelChunk>}
 */
export function callingModel(iterations) {
  return (iteration) => (iteration < iterations - 1 ? callIteration(iteration) : answerIteration());
}

/**
 * Like `callingModel`, but waits before each response, to simulate the latency of a network.
 *
 * @param {number} iterations
 * @param {number} latencyMs
 * @returns {(iteration: number) => AsyncGenerator<ModelChunk>}
 */
export function slowModel(iterations, latencyMs) {
  const stream = callingModel(iterations);
  return async function* slowIteration(iteration) {
    await sleep(latencyMs);
    yield* stream(iteration);
  };
}

/**
 * A model that answers immediately, with many text deltas.
 *
 * @param {number} deltas
 * @returns {() => AsyncGenerator<ModelChunk>}
 */
export function talkingModel(deltas) {
  return async function* talkIteration() {
    for (let index = 0; index < deltas; index += 1) yield { type: "text-delta", text: "token " };
    yield { type: "usage", usage, mode: "snapshot" };
    yield { type: "finish", reason: "stop" };
  };
}

/**
 * A model that makes many calls in its first response, and answers in its second response.
 *
 * @param {number} calls
 * @returns {(iteration: number) => AsyncGenerator<ModelChunk>}
 */
export function batchModel(calls) {
  return async function* batchIteration(iteration) {
    if (iteration > 0) return yield* answerIteration();
    for (let index = 0; index < calls; index += 1) yield forecastCall(`call_${index}`, index);
    yield { type: "usage", usage, mode: "snapshot" };
    yield { type: "finish", reason: "tool-calls" };
  };
}

/** A model that sends one word and then never ends, even if the run is aborted. */
export async function* silentModel() {
  yield /** @type {const} */ ({ type: "text-delta", text: "Let " });
  await new Promise(() => undefined);
}

/** @param {number} ms */
export function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * @param {number} iteration
 * @returns {AsyncGenerator<ModelChunk>}
 */
async function* callIteration(iteration) {
  yield { type: "text-delta", text: "Let me look. " };
  yield forecastCall(`call_${iteration}`, iteration);
  yield { type: "usage", usage, mode: "snapshot" };
  yield { type: "finish", reason: "tool-calls" };
}

/** @returns {AsyncGenerator<ModelChunk>} */
async function* answerIteration() {
  yield { type: "text-delta", text: "Take a coat." };
  yield { type: "usage", usage, mode: "snapshot" };
  yield { type: "finish", reason: "stop" };
}

/**
 * Makes a call of `forecast`. Parses the arguments from text, as adapters do. The arguments differ in every call, because
 * turnwright ends a run that repeats the same call.
 *
 * @param {string} id
 * @param {number} days
 * @returns {ModelChunk}
 */
function forecastCall(id, days) {
  const argsText = `{"city":"Oslo","days":${days}}`;
  return { type: "call-ready", key: id, id, name: "forecast", args: JSON.parse(argsText), argsText };
}
