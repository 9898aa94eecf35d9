// The scripted model does 200 iterations of work. If a request lacks a tool, the model first searches for that tool.
import { createRandom, definitions, writeProse } from "./write-text.js";

/**
 * @typedef {{ type: "text", text: string } | { type: "tool_use", id: string, name: string, input: Record<string, unknown> }} Block
 * @typedef {{ readonly tools?: readonly { readonly name: string }[], readonly system?: unknown, readonly messages: readonly object[] }} Body
 */

const workIterations = 200;

/** The work needs 14 of the first 40 tools. */
const needed = definitions.filter((_, index) => index < 40 && index % 3 === 0).map(({ name }) => name);

/** The number of iterations until the work needs a new tool. */
const phaseLength = 14;

/**
 * Makes a model that answers one run. It counts the iterations itself, so it needs no memory of messages that were summarized.
 *
 * @returns {(body: Body) => readonly Block[]}
 */
export function createModel() {
  let done = 0;
  let searches = 0;
  /** @type {Set<string>} */
  const searched = new Set();
  return ({ tools = [], messages }) => {
    if (tools.length === 0) return [{ type: "text", text: writeProse(45, messages.length + done) }];
    if (done === workIterations - 1) return [{ type: "text", text: writeProse(12, done) }];
    const name = nameOf(done);
    const isVisible = tools.some((tool) => tool.name === name);
    if (!isVisible && tools.some((tool) => tool.name === "find_tools") && !searched.has(name)) {
      searched.add(name);
      searches += 1;
      return [
        { type: "tool_use", id: `toolu_find_${searches}`, name: "find_tools", input: { query: name.replaceAll("_", " ") } },
      ];
    }
    done += 1;
    return workOf(done - 1, name);
  };
}

/** @param {number} index */
function nameOf(index) {
  const latest = Math.min(needed.length - 1, Math.floor(index / phaseLength));
  // Every third iteration uses an earlier tool again.
  return needed[index % 3 === 2 ? Math.floor(latest / 2) : latest] ?? "";
}

/**
 * @param {number} index
 * @param {string} name
 * @returns {readonly Block[]}
 */
function workOf(index, name) {
  const random = createRandom(index);
  const calls = index % 8 === 7 ? 3 : 1;
  return [
    { type: "text", text: writeProse(1 + random(4), index) },
    ...Array.from({ length: calls }, (_, call) => ({
      type: /** @type {const} */ ("tool_use"),
      id: `toolu_${index}_${call}`,
      name,
      input: {
        id: `${10_000 + index * 10 + call}`,
        filter: `changed > ${index} AND state = open`,
        fields: ["id", "state", "history"],
      },
    })),
  ];
}

/**
 * Returns the size of a result in tokens: 300 to 3,000, and 15,000 in every 20th iteration.
 *
 * @param {number} index
 */
export function resultTokens(index) {
  if (index % 20 === 13) return 15_000;
  return 300 + createRandom(index + 1_000)(2_701);
}

/**
 * Returns the time before a request: 20 seconds, and once 6 minutes, which is longer than a cache lives.
 *
 * @param {number} request
 */
export function secondsOf(request) {
  return request === 120 ? 360 : 20;
}
