// Creates and checks signatures that are valid only after the same prefix: system text, tools and earlier content. Each contains its
// prefix's digest, so that the service need not remember its answers.

import { digest, stableJson, toJson } from "../../shared/json.ts";
import type { UnknownRecord } from "../../shared/guards.ts";
import { bindingBeta } from "../../services/anthropic.ts";
import type { Rule, WireItem, WireRequest } from "../../services/rule.ts";
import { recordAt, recordsIn, show } from "../../services/rule-checks.ts";

/** A thinking block or reasoning item whose prefix has changed. */
export interface Transformation {
  readonly at: number;
  readonly index: number;
  readonly id: unknown;
}

const print = (value: unknown): string => digest(stableJson(toJson(value)));

/** Digests the system text and the tools, without cache marks and deferred tools, which may change. */
function printHead({ body }: WireRequest): string {
  const tools = recordsIn(body.tools).filter(({ defer_loading: deferred }) => deferred !== true);
  return print([withoutMarks(body.system ?? body.instructions), tools.map(withoutMarks)]);
}

function withoutMarks(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null, (name, entry: unknown) => (name === "cache_control" ? undefined : entry)));
}

function isThinking({ type }: UnknownRecord): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

/** Extends a prefix's digest by one block. Ignores thinking, because leading thinking may be left out. */
function printBlock(before: string, role: string, block: UnknownRecord): string {
  return isThinking(block) ? before : print([before, role, withoutMarks(block)]);
}

/** The state of a conversation at one point: its prefix, and its last thinking block. */
interface Chain {
  readonly prefix: string;
  readonly last: string;
}

/** Signs thinking that follows the messages in a request and the blocks in the answer so far. */
export function signThinking(request: WireRequest, blocks: readonly UnknownRecord[], key: string): string {
  let chain: Chain = { prefix: printHead(request), last: "" };
  for (const { role, parts } of request.items) for (const part of parts) chain = follow(chain, role, part);
  for (const block of blocks) chain = follow(chain, "assistant", block);
  return `claude.${chain.prefix}.${chain.last === "" ? "0" : print(chain.last)}.${key}`;
}

function follow({ prefix, last }: Chain, role: string, block: UnknownRecord): Chain {
  return { prefix: printBlock(prefix, role, block), last: isThinking(block) ? signatureOf(block) : last };
}

function signatureOf({ signature, data }: UnknownRecord): string {
  return show(signature ?? data);
}

/** Finds the thinking blocks whose prefix or earlier thinking has changed. */
export function findChangedThinking(request: WireRequest): readonly Transformation[] {
  const changed: Transformation[] = [];
  let chain: Chain = { prefix: printHead(request), last: "" };
  for (const { role, parts, at } of request.items) {
    for (const [index, part] of parts.entries()) {
      if (isThinking(part)) {
        const [, prefix, before] = signatureOf(part).split(".");
        const follows = chain.last === "" || before === print(chain.last);
        if (prefix !== chain.prefix || !follows) changed.push({ at, index, id: undefined });
      }
      chain = follow(chain, role, part);
    }
  }
  return changed;
}

/** Digests the prefix of an item in the Responses API: the items before it, without `instructions`. */
export function printInput({ body }: WireRequest, items: readonly WireItem[]): string {
  let prefix = print([body.tools ?? null, body.text ?? null]);
  for (const { fields } of items) if (fields.type !== "reasoning") prefix = print([prefix, fields]);
  return prefix;
}

/** Finds the reasoning items whose prefix has changed. */
export function findChangedReasoning(request: WireRequest): readonly Transformation[] {
  return request.items.flatMap(({ at, fields }) => {
    if (fields.type !== "reasoning") return [];
    const [, prefix] = show(fields.encrypted_content).split(".");
    return prefix === printInput(request, request.items.slice(0, at)) ? [] : [{ at, index: 0, id: fields.id }];
  });
}

/** The service refuses thinking whose prefix has changed, unless the request asks it to drop such thinking. */
export const preservedThinkingRule: Rule = {
  rule: "Thinking comes after the same system text, tools and content as when it was made. No thinking in the middle is left out.",
  source: "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation",
  refuses: (request) => {
    const [changed] = findChangedThinking(request);
    const binding = recordAt(request.body, "thinking", "block_binding");
    const mayDrop = request.headers.get("anthropic-beta")?.includes(bindingBeta) === true;
    if (changed === undefined || (mayDrop && binding.prefix_mismatch_behavior === "drop_block")) return undefined;
    const needs = mayDrop ? "." : `, which requires the beta header ${bindingBeta}.`;
    return `messages.${changed.at}.content.${changed.index}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block"${needs}`;
  },
};
