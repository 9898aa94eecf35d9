// The script that all compared libraries run. It produces chunks in turnwright's format; the file of each library converts them
// to that library's format.

/**
 * @typedef {import("../../../src/core/types/provider.ts").ModelChunk} ModelChunk
 * @typedef {(iteration: number) => AsyncIterable<ModelChunk>} Script
 * @typedef {import("../subjects.js").Execute} Execute
 * @typedef {{ stream: Script, execute: Execute, iterations: number }} Work The content of a run: its model, its tool, and the number of its requests.
 * @typedef {(work: Work) => () => Promise<unknown>} Peer Returns a function that starts the run. The function can be called repeatedly.
 */

/** The user's question, for libraries that accept a string. */
export const question = "Do I need a coat in Oslo?";

export const description = "Weather of the next days";

/**
 * Throws if a run ended early. Otherwise, a broken run would look fast.
 *
 * @param {string} text
 * @param {number} requests
 * @param {Work} work
 */
export function checkRun(text, requests, { iterations }) {
  if (requests !== iterations || text === "")
    throw new Error(`A run ended early: it made ${requests} of ${iterations} requests and answered "${text}".`);
}
