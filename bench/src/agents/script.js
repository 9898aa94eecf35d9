// The scripted model and the values that the programs of all libraries share.

/**
 * @typedef {{ readonly name: string, readonly args?: object }} Call
 * @typedef {{ readonly text?: string, readonly calls?: readonly Call[] }} Turn What the model says in one request.
 * @typedef {(results: number, canCall: boolean) => Turn | Promise<never>} Script Answers a request whose transcript has this many results of calls, and which may have tools. A promise that never ends is a process that dies.
 * @typedef {{ requests: number }} Counter
 * @typedef {Readonly<Record<string, (() => Promise<string>) | undefined>>} Library One program for each feature of features.js. Each returns a cell of the table.
 */

/** An answer of 240 characters. `piecesOf` cuts it into pieces of 10. */
export const secret = "The secret is in the answer, and the check refuses it. ".repeat(5).slice(0, 240);

/** @param {string} text */
export const piecesOf = (text) => text.match(/[^]{1,10}/g) ?? [];

/** @returns {Promise<never>} */
export const never = () => new Promise(() => {});

/** @param {number} ms */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Waits for a moment that may not come, because the library waits for the caller.
 *
 * @param {Promise<unknown>} moment
 */
export const orSoon = (moment) => Promise.race([moment, sleep(200)]);

/** A promise that can be resolved from outside. */
export function createMoment() {
  let happen = () => {};
  /** @type {Promise<void>} */
  const happened = new Promise((resolve) => {
    happen = () => resolve();
  });
  return { happen, happened };
}

/**
 * Counts the values of an iterable, and stops at an error.
 *
 * @template Value
 * @param {AsyncIterable<Value>} values
 * @param {(value: Value) => void} note
 */
export async function drain(values, note) {
  try {
    for await (const value of values) note(value);
    return undefined;
  } catch (error) {
    return /** @type {Error} */ (error);
  }
}

/** A question that goes from triage to billing and back. Each agent calls the handoff that it has. */
export const handoffTrip = {
  question: "I was charged twice. And when do you open?",
  answer: "Your money comes back, and we open at nine.",
};

export const order = { id: "A-17", customer: "Ada", city: "Oslo", items: 3, express: true };

export const usageOfRequest = { input: 100, output: 20 };
export const tokensOfRequest = usageOfRequest.input + usageOfRequest.output;

/** @type {Script} A model that works without end, and sums up when it may not work. */
export const partlyDone = (results, canCall) => (canCall ? { calls: [{ name: "work" }] } : { text: `Done: ${results} parts.` });

/** The budget of a lead and its three agents, in tokens. Each agent would make 5 requests. */
export const teamBudget = 1_000;
export const agentRequests = 5;

/** @param {number} count @param {string} noun */
export const countOf = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
