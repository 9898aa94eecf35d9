// Writes texts that look like logs, tool definitions and answers. The same seed gives the same text.

const services = ["github", "jira", "slack", "salesforce", "stripe"];
const things = ["issue", "invoice", "customer", "channel", "release", "refund"];
const verbs = ["search", "get", "list", "create", "update", "close", "merge", "assign", "archive", "delete"];
const levels = ["info", "info", "info", "warn", "error"];
const events = [
  "request finished with status 200 after the second attempt",
  "upstream closed the connection before the response was complete",
  "the record was changed by another session and was read again",
  "the queue is longer than usual and the worker waits",
];

/**
 * Makes a generator of pseudo-random whole numbers from 0 to `below` - 1.
 *
 * @param {number} seed
 * @returns {(below: number) => number}
 */
export function createRandom(seed) {
  // Similar seeds must not give similar numbers.
  let state = Math.imul(seed + 1, 2_654_435_761);
  state = Math.imul(state ^ (state >>> 15), 2_246_822_519);
  state ^= state >>> 13;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The average number of tokens in a line of a log. */
const lineTokens = 38.7;

/**
 * Writes lines of a log.
 *
 * @param {number} tokens the approximate size
 * @param {number} seed
 */
export function writeLog(tokens, seed) {
  const random = createRandom(seed);
  /** @template Item @param {readonly Item[]} items */
  const pick = (items) => items[random(items.length)];
  const lines = Array.from({ length: Math.max(1, Math.round(tokens / lineTokens)) }, (_, index) => {
    const time = new Date(1_780_000_000_000 + seed * 60_000 + index * 731).toISOString();
    return `${time} ${pick(levels)} ${pick(services)}/${pick(things)} id=${random(90_000) + 10_000}: ${pick(events)} (${random(5_000)} ms)`;
  });
  return lines.join("\n");
}

/** @param {number} sentences @param {number} seed */
export function writeProse(sentences, seed) {
  const random = createRandom(seed);
  return Array.from({ length: sentences }, () => {
    const [service, thing] = [services[random(services.length)], things[random(things.length)]];
    return `The ${thing} ${random(90_000) + 10_000} of ${service} does not match its record, so the next step is to compare both.`;
  }).join(" ");
}

/** Definitions of 300 tools, as servers of the Model Context Protocol have them. The first 40 belong to all services. */
export const definitions = verbs.flatMap((verb) =>
  things.flatMap((thing) =>
    services.map((service) => ({
      name: `${service}_${verb}_${thing}`,
      description: `Calls ${service} to ${verb} one ${thing}, or several if the filter matches more than one. Returns the ${thing} after the call, with its history. Fails if the ${thing} is locked by another session.`,
      inputSchema: {
        type: /** @type {const} */ ("object"),
        properties: {
          id: { type: "string", description: `The id of the ${thing}, as another tool of ${service} has returned it.` },
          filter: { type: "string", description: "Conditions on fields, joined with AND." },
          fields: { type: "array", items: { type: "string" }, description: "The names of the fields to return. Default: all." },
          limit: { type: "integer", minimum: 1, maximum: 100, description: "The maximum number of objects." },
        },
        required: ["id"],
      },
    })),
  ),
);
