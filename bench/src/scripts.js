// What the fake models say. Both loops read the very same chunks from the very same generators.

/** @typedef {import("../../src/core/types/provider.ts").ModelChunk} ModelChunk */

const argsText = '{"city":"Oslo","days":3}';
const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120 };

/**
 * A model that calls `forecast` in each pass but the last: one text delta and one call a pass.
 *
 * @param {number} passes
 * @returns {(pass: number) => AsyncGenerator<ModelChunk>}
 */
export function callingModel(passes) {
  return (pass) => (pass < passes - 1 ? callPass(pass) : answerPass());
}

/**
 * As `callingModel`, but each pass waits first, as a model over a network does.
 *
 * @param {number} passes
 * @param {number} latencyMs
 * @returns {(pass: number) => AsyncGenerator<ModelChunk>}
 */
export function slowModel(passes, latencyMs) {
  const stream = callingModel(passes);
  return async function* slowPass(pass) {
    await sleep(latencyMs);
    yield* stream(pass);
  };
}

/**
 * A model that answers in one pass of many text deltas.
 *
 * @param {number} deltas
 * @returns {() => AsyncGenerator<ModelChunk>}
 */
export function talkingModel(deltas) {
  return async function* talkPass() {
    for (let index = 0; index < deltas; index += 1) yield { type: "text-delta", text: "token " };
    yield { type: "usage", usage, mode: "snapshot" };
    yield { type: "finish", reason: "stop" };
  };
}

/**
 * A model that makes many calls in its first pass and answers in its second.
 *
 * @param {number} calls
 * @returns {(pass: number) => AsyncGenerator<ModelChunk>}
 */
export function batchModel(calls) {
  return async function* batchPass(pass) {
    if (pass > 0) return yield* answerPass();
    for (let index = 0; index < calls; index += 1) yield forecastCall(`call_${index}`);
    yield { type: "usage", usage, mode: "snapshot" };
    yield { type: "finish", reason: "tool-calls" };
  };
}

/** A model that says one word and then nothing, for ever, and hears no signal. */
export async function* silentModel() {
  yield /** @type {const} */ ({ type: "text-delta", text: "Let " });
  await new Promise(() => undefined);
}

/** @param {number} ms */
export function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * @param {number} pass
 * @returns {AsyncGenerator<ModelChunk>}
 */
async function* callPass(pass) {
  yield { type: "text-delta", text: "Let me look. " };
  yield forecastCall(`call_${pass}`);
  yield { type: "usage", usage, mode: "snapshot" };
  yield { type: "finish", reason: "tool-calls" };
}

/** @returns {AsyncGenerator<ModelChunk>} */
async function* answerPass() {
  yield { type: "text-delta", text: "Take a coat." };
  yield { type: "usage", usage, mode: "snapshot" };
  yield { type: "finish", reason: "stop" };
}

/**
 * The arguments come as text and are parsed here, as an adapter does.
 *
 * @param {string} id
 * @returns {ModelChunk}
 */
function forecastCall(id) {
  return { type: "call-ready", key: id, id, name: "forecast", args: JSON.parse(argsText), argsText };
}
