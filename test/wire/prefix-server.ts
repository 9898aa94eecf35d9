// Rules of a service that accepts thinking only after an unchanged prefix, as documented in
// platform.claude.com/docs/en/build-with-claude/preserved-thinking (September 2026).

import type { SentRequest, ServiceAnswer, ServiceRules, WireBody, WirePart } from "./anthropic-service.ts";

export interface PrefixOptions {
  /** True if the account may ask the service to drop blocks that no longer fit. */
  readonly canDrop: boolean;
  /** Returns the blocks of an answer without its thinking. `count` is the number of accepted requests before this one. */
  answer(body: WireBody, count: number): readonly WirePart[];
}

/** Everything that a thinking block is bound to. */
interface Binding {
  readonly prefix: string;
  /** The signatures of the thinking before the block. */
  readonly chain: readonly string[];
}

interface Found {
  readonly signature: string;
  readonly path: string;
}

const beta = "thinking-binding-controls-2026-08-01";
const unknownField = "thinking.adaptive.block_binding: Extra inputs are not permitted";
const refusal = (path: string): string =>
  `${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`;

export function createPrefixRules({ canDrop, answer }: PrefixOptions): ServiceRules {
  const bindings = new Map<string, Binding>();
  let count = 0;
  const asksToDrop = ({ thinking }: WireBody): boolean => thinking?.["block_binding"] !== undefined;
  return {
    refuse({ body, headers }) {
      const hasBeta = headers.get("anthropic-beta")?.includes(beta) === true;
      if (asksToDrop(body) && !(canDrop && hasBeta)) return unknownField;
      const [unfit] = findUnfit(body, bindings);
      return unfit === undefined || asksToDrop(body) ? undefined : refusal(unfit.path);
    },
    answer({ body }: SentRequest): ServiceAnswer {
      const blocks = answer(body, count);
      count += 1;
      if (body.thinking?.type === "disabled") return { blocks };
      const unfit = findUnfit(body, bindings);
      const signature = `sig-${count}`;
      const dropped = new Set(unfit.map((found) => found.signature));
      const chain = thinkingOf(body).map((found) => found.signature);
      bindings.set(signature, { prefix: toPrefix(body, body.messages.length), chain: chain.filter((one) => !dropped.has(one)) });
      const transformations = unfit.map(({ path }) => ({ type: "thinking_dropped", path, reason: "prefix_binding_mismatch" }));
      const message = asksToDrop(body) ? { input_transformations: [...transformations, { type: "novelty", path: "x" }] } : {};
      return { blocks: [{ type: "thinking", thinking: "", signature }, ...blocks], message };
    },
  };
}

/** Returns the first block that does not fit, and all thinking after it. */
function findUnfit(body: WireBody, bindings: ReadonlyMap<string, Binding>): readonly Found[] {
  const found = thinkingOf(body);
  const at = found.findIndex(({ signature, path }, index) => {
    const binding = bindings.get(signature);
    const position = Number(path.split(".")[1]);
    const chain = found.slice(0, index).map((earlier) => earlier.signature);
    return binding === undefined || binding.prefix !== toPrefix(body, position) || !isEnd(chain, binding.chain);
  });
  return at === -1 ? [] : found.slice(at);
}

/** Leading thinking may be missing, but none in the middle. */
function isEnd(chain: readonly string[], whole: readonly string[]): boolean {
  return chain.length <= whole.length && chain.every((one, index) => one === whole[whole.length - chain.length + index]);
}

function thinkingOf({ messages }: WireBody): readonly Found[] {
  return messages.flatMap(({ content }, at) =>
    content.flatMap((block, index) =>
      block.type === "thinking" ? [{ signature: String(block["signature"]), path: `messages.${at}.content.${index}` }] : [],
    ),
  );
}

/** The system text, the set of tools, and the messages before a position. Cache marks and the thinking itself do not count. */
function toPrefix({ system, tools = [], messages }: WireBody, end: number): string {
  const set = tools.map((tool) => write(tool)).toSorted();
  const before = messages
    .slice(0, end)
    .map(({ role, content }) => ({ role, content: content.filter(({ type }) => type !== "thinking") }));
  return write([typeof system === "string" ? [{ type: "text", text: system }] : (system ?? []), set, before]);
}

function write(value: unknown): string {
  return JSON.stringify(value, (key, item: unknown) => (key === "cache_control" ? undefined : item));
}
