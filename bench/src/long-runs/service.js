// Simulates Anthropic's service: its context window, its prompt cache and its usage. For comparison, also counts the tokens
// that an automatic cache would read for the same requests.
import { countTokens } from "./count-tokens.js";
import { createModel, secondsOf } from "./model.js";

/**
 * @typedef {import("./model.js").Body} Body
 * @typedef {import("./model.js").Block} Block
 * @typedef {{ readonly key: string, readonly tokens: number, readonly isMarked: boolean }} Part
 * @typedef {{
 *   readonly isSummary: boolean,
 *   readonly input: number,
 *   readonly read: number,
 *   readonly written: number,
 *   readonly output: number,
 *   readonly automatic: number,
 * }} Served The tokens of a request. `automatic` is the part of `input` that an automatic cache reads.
 */

const mostMarks = 4;
const lookback = 20;
const lifeSeconds = 300;
const leastCached = 4_096;
const automaticStep = 128;

/** @type {Map<string, { readonly id: number, readonly tokens: number }>} Each text is looked up once per request, because texts are long. */
const texts = new Map();

/** @type {WeakMap<object, Part>} Most blocks are the same objects in each request of a run. */
const knownParts = new WeakMap();

/** The blocks at the beginning of a request. Requests that begin with the same blocks share these objects. */
class Prefix {
  /** @type {Map<string, Prefix>} */
  #next = new Map();
  /** A cache entry ends after this block. It is valid until this second. 0 if there is no entry. */
  cachedUntil = 0;
  /** An automatic cache has the request up to this block until this second. */
  automaticUntil = 0;

  /** @param {string} key */
  then(key) {
    const next = this.#next.get(key) ?? new Prefix();
    this.#next.set(key, next);
    return next;
  }
}

/** @param {{ readonly window: number }} options the size of the context window in tokens */
export function createService({ window }) {
  const root = new Prefix();
  const answer = createModel();
  /** @type {Served[]} */
  const served = [];
  /** @type {number[]} */
  const refused = [];
  let seconds = 0;
  /** @type {Body} */
  let taken = { messages: [] };

  /** @param {Body} body */
  function respond(body) {
    const parts = listParts(body);
    const input = sum(parts.map(({ tokens }) => tokens));
    if (input > window) {
      refused.push(input);
      return refuse(`prompt is too long: ${input} tokens > ${window} maximum`);
    }
    if (parts.filter(({ isMarked }) => isMarked).length > mostMarks)
      return refuse("A maximum of 4 blocks with cache_control may be provided.");
    seconds += secondsOf(served.length);
    const walked = walk(root, parts);
    const cached = { ...useMarks(walked, parts, seconds), automatic: useAutomatic(walked, seconds) };
    const blocks = answer(body);
    const output = sum(blocks.map((block) => countTokens(JSON.stringify(block))));
    served.push({ isSummary: body.tools === undefined, input, ...cached, output });
    return stream(blocks, { input_tokens: input - cached.read - cached.written, ...toCounts(cached), output_tokens: output });
  }

  return {
    served,
    refused,
    /** Takes the body of the next request. @param {object} body */
    take: (body) => void (taken = /** @type {Body} */ (body)),
    /** @type {typeof fetch} */
    fetch: async () => respond(taken),
  };
}

/** @param {{ readonly read: number, readonly written: number }} cached */
function toCounts({ read, written }) {
  return { cache_read_input_tokens: read, cache_creation_input_tokens: written };
}

/**
 * Reads the longest entry that ends at most 20 blocks before a mark, and writes an entry at each mark.
 *
 * @param {Walked} walked
 * @param {readonly Part[]} parts
 * @param {number} now
 */
function useMarks({ prefixes, sizes }, parts, now) {
  const marks = parts.flatMap(({ isMarked }, at) => (isMarked && (sizes[at] ?? 0) >= leastCached ? [at] : []));
  const found = marks.map((mark) =>
    findLast(mark, Math.max(0, mark - lookback + 1), (at) => (prefixes[at]?.cachedUntil ?? 0) > now),
  );
  const hit = Math.max(-1, ...found);
  for (const at of [...marks, hit]) {
    const prefix = prefixes[at];
    if (prefix !== undefined) prefix.cachedUntil = now + lifeSeconds;
  }
  const read = sizes[hit] ?? 0;
  const last = sizes[marks.at(-1) ?? -1] ?? 0;
  return { read, written: Math.max(0, last - read) };
}

/**
 * Reads the longest beginning of an earlier request, in steps of 128 tokens from 1,024 on.
 *
 * @param {Walked} walked
 * @param {number} now
 */
function useAutomatic({ prefixes, sizes }, now) {
  const hit = findLast(prefixes.length - 1, 0, (at) => (prefixes[at]?.automaticUntil ?? 0) > now);
  for (const prefix of prefixes) prefix.automaticUntil = now + lifeSeconds;
  const shared = sizes[hit] ?? 0;
  return shared < leastCached ? 0 : shared - (shared % automaticStep);
}

/**
 * Finds the prefix that ends with each part, and its size.
 *
 * @typedef {{ readonly prefixes: readonly Prefix[], readonly sizes: readonly number[] }} Walked
 * @param {Prefix} root
 * @param {readonly Part[]} parts
 * @returns {Walked}
 */
function walk(root, parts) {
  let prefix = root;
  let size = 0;
  const prefixes = parts.map(({ key }) => (prefix = prefix.then(key)));
  const sizes = parts.map(({ tokens }) => (size += tokens));
  return { prefixes, sizes };
}

/**
 * @param {number} from
 * @param {number} to
 * @param {(at: number) => boolean} fits
 */
function findLast(from, to, fits) {
  for (let at = from; at >= to; at -= 1) if (fits(at)) return at;
  return -1;
}

/**
 * Lists the blocks of a body in the order in which the service reads them.
 *
 * @param {Body} body
 * @returns {readonly Part[]}
 */
function listParts({ tools = [], system = [], messages }) {
  const systemBlocks = typeof system === "string" ? [{ type: "text", text: system }] : /** @type {object[]} */ (system);
  const inMessages = messages.flatMap((message) => {
    const { role, content } = /** @type {{ role: string, content: object[] }} */ (message);
    return content.map((block) => toPart(role, block));
  });
  return [...tools.map((tool) => toPart("tool", tool)), ...systemBlocks.map((block) => toPart("system", block)), ...inMessages];
}

/**
 * @param {string} place
 * @param {object} block
 * @returns {Part}
 */
function toPart(place, block) {
  const known = knownParts.get(block);
  if (known !== undefined) return known;
  const { cache_control: mark, ...content } = /** @type {{ cache_control?: object }} */ (block);
  const text = JSON.stringify(content);
  const { id, tokens } = texts.get(text) ?? { id: texts.size, tokens: countTokens(text) };
  texts.set(text, { id, tokens });
  const part = { key: `${place} ${id}`, tokens, isMarked: mark !== undefined };
  knownParts.set(block, part);
  return part;
}

/** @param {string} message */
function refuse(message) {
  return Response.json({ type: "error", error: { type: "invalid_request_error", message } }, { status: 400 });
}

/**
 * @param {readonly Block[]} blocks
 * @param {{ readonly [count: string]: number }} usage
 */
function stream(blocks, usage) {
  const inBlocks = blocks.flatMap((block, index) => {
    const delta =
      block.type === "text"
        ? { type: "text_delta", text: block.text }
        : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
    const start = block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} };
    return [
      { type: "content_block_start", index, content_block: start },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ];
  });
  const stopReason = blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  const events = [
    { type: "message_start", message: { id: "msg_1", role: "assistant", content: [], usage: { ...usage, output_tokens: 1 } } },
    ...inBlocks,
    { type: "message_delta", delta: { stop_reason: stopReason }, usage: { output_tokens: usage.output_tokens } },
    { type: "message_stop" },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** @param {readonly number[]} numbers */
export function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
