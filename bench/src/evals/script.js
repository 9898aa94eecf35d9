// The support agent whose evaluations are compared: its cases, its shop and its scripted model, which all libraries share.
import { appendFileSync, readFileSync } from "node:fs";

/**
 * @typedef {{ readonly id: string, readonly text: string, readonly paid: readonly number[] }} Case `paid` are the orders that must be paid back at the end.
 * @typedef {{ readonly paid: number[] }} Shop
 * @typedef {{ readonly text?: string, readonly refund?: number }} Turn What the model says in one request: a text, or a call of the tool `refund`.
 */

export const trials = 5;
/** The longest duration of a trial. */
export const trialMs = 2_000;
/** The price of a request in USD. */
export const price = 0.01;
export const budget = 0.1;

/** @type {readonly Case[]} */
export const cases = [
  { id: "refund", text: "I want my money back for order 7.", paid: [7] },
  { id: "greeting", text: "Hello!", paid: [] },
  { id: "twice", text: "I was charged twice for order 8.", paid: [8] },
  { id: "promise", text: "I want my money back for order 9.", paid: [9] },
  { id: "stranger", text: "Who am I?", paid: [] },
  { id: "silence", text: "Are you there?", paid: [] },
];

/** The trials of the case "twice" that fail: there, the model forgets to pay. */
const forgetful = [2, 4];

/** @type {Record<string, number>} */
const begun = {};

/**
 * Begins a trial of a case, and returns the script of its model, which gets the number of results so far. The environment variable
 * EVALS_VERSION=worse stands for a new version, in which the model no longer pays for the case "refund".
 *
 * @param {string} text the message of the user
 * @returns {(results: number) => Turn | Promise<never>}
 */
export function beginTrial(text) {
  const { id = "" } = cases.find((item) => item.text === text) ?? {};
  const trial = (begun[id] ?? 0) + 1;
  begun[id] = trial;
  note("trial");
  // A mistake in the code of the agent.
  if (id === "stranger") throw new Error("There is no such customer.");
  const forgets = id === "promise" || (id === "twice" && forgetful.includes(((trial - 1) % trials) + 1));
  const forgetsNow = forgets || (id === "refund" && process.env["EVALS_VERSION"] === "worse");
  const [order] = cases.find((item) => item.id === id)?.paid ?? [];
  return (results) => {
    note("request");
    if (id === "silence") return new Promise(() => {});
    if (order === undefined) return { text: "Hello! How can I help you?" };
    return results === 0 && !forgetsNow ? { refund: order } : { text: `I have paid you back for order ${order}.` };
  };
}

/** @returns {Shop} */
export function openShop() {
  note("open");
  return { paid: [] };
}

/** @param {Shop} _shop */
export function closeShop(_shop) {
  note("close");
}

/**
 * Notes that something has happened, in a file, because some libraries run trials in other processes.
 *
 * @param {"trial" | "request" | "open" | "close" | "abort" | "score"} what
 */
export function note(what) {
  const file = process.env["EVALS_NOTES"];
  if (file !== undefined) appendFileSync(file, `${what}\n`);
}

/** @param {string} file */
export function countNotes(file) {
  const all = readFileSync(file, "utf8").split("\n");
  return (/** @type {Parameters<typeof note>[0]} */ what) => all.filter((line) => line === what).length;
}
