// The model that all compared libraries use. It produces chunks in turnwright's format, and each library has an adapter that
// converts the chunks to its own format.

/**
 * @typedef {import("../../../src/core/types/provider.ts").ModelChunk} ModelChunk
 * @typedef {(iteration: number) => AsyncIterable<ModelChunk>} Script
 * @typedef {import("../subjects.js").Execute} Execute
 * @typedef {{ stream: Script, execute: Execute, iterations: number }} Work The content of a run: its model, its tool, and the number of its requests.
 * @typedef {(work: Work) => () => Promise<unknown>} Peer Returns a function that starts the run. The function can be called repeatedly.
 */

export const question = "Do I need a coat in Oslo?";

export const description = "Weather of the next days";

/**
 * Throws if a run ended too early. Without this check, a broken run would look fast.
 *
 * @param {string} text
 * @param {number} requests
 * @param {Work} work
 */
export function checkRun(text, requests, { iterations }) {
  if (requests !== iterations || text === "")
    throw new Error(`A run ended early: it made ${requests} of ${iterations} requests and answered "${text}".`);
}
