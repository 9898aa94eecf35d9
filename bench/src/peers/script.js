// The same script for each peer: the chunks of turnwright's own, which each one translates into what its model port wants.

/**
 * @typedef {import("../../../src/core/types/provider.ts").ModelChunk} ModelChunk
 * @typedef {(iteration: number) => AsyncIterable<ModelChunk>} Script
 * @typedef {import("../subjects.js").Execute} Execute
 * @typedef {{ stream: Script, execute: Execute, iterations: number }} Work What a run does: its model, its tool, and how many requests it makes.
 * @typedef {(work: Work) => () => Promise<unknown>} Peer Makes a run that can be started again and again.
 */

/** The question of the user, for peers that take a text. */
export const question = "Do I need a coat in Oslo?";

export const description = "Weather of the next days";

/**
 * A run that ended early would look fast.
 *
 * @param {string} text
 * @param {number} requests
 * @param {Work} work
 */
export function checkRun(text, requests, { iterations }) {
  if (requests !== iterations || text === "")
    throw new Error(`A run made ${requests} of ${iterations} requests and said "${text}".`);
}
