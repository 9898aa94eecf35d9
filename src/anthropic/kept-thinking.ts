// Removes thinking that the service would refuse because an earlier part of the request has changed.

import { createRefusedReasoning, type RefusedReasoning } from "../shared/adapters/refused-parts.ts";
import { memoize } from "../core/kit.ts";
import type { RequestChange } from "../core/types/provider.ts";
import type { Message, ModelRequest } from "../core/index.ts";
import type { WireMessage } from "./messages-options.ts";
import { isThinkingBlock } from "./provider-metadata.ts";

/** A request's content before a thinking block. The block is valid only after exactly this content. */
export interface Prefix {
  readonly system: unknown;
  readonly tools: readonly object[];
  readonly wire: readonly WireMessage[];
}

export interface KeptThinking extends Pick<RefusedReasoning, "listAccepted" | "refuse"> {
  /**
   * Compares a request with the previous request of the same run. If they differ, marks all thinking after the first difference as refused.
   * Returns true if there was any such thinking.
   */
  compare(request: ModelRequest, prefix: Prefix): boolean;
  /** Returns the message without its thinking if the service would refuse that thinking. */
  strip(wire: WireMessage, message: Message | undefined): WireMessage;
}

/** Reports that the adapter left out thinking, because the content before it had changed. */
export const leftOut: RequestChange = { by: "adapter", field: "thinking", action: "removed", reason: "request-changed" };

export function createKeptThinking(): KeptThinking {
  const refused = createRefusedReasoning();
  /** The newest request of each run. The key is the first message of the transcript, which stays the same object. */
  const sent = new WeakMap<Message, Prefix>();
  return {
    listAccepted: refused.listAccepted,
    refuse: refused.refuse,
    compare({ transcript, messages }, prefix) {
      const first = transcript?.messages[0] ?? messages[0];
      if (first === undefined) return false;
      const before = sent.get(first);
      sent.set(first, prefix);
      const changed = before === undefined ? undefined : findChange(before, prefix);
      if (changed === undefined) return false;
      refused.refuse(messages.slice(changed));
      return prefix.wire.slice(changed).some((wire) => withoutThinking(wire) !== wire);
    },
    strip: (wire, message) => (message?.role === "assistant" && refused.has(message) ? withoutThinking(wire) : wire),
  };
}

/** Returns the position of the first message that differs. Returns 0 if the system text or the tools differ. */
function findChange(before: Prefix, now: Prefix): number | undefined {
  const hasSameTools = before.tools.length === now.tools.length && before.tools.every((tool, at) => isSame(tool, now.tools[at]));
  if (!hasSameTools || !isSame(before.system, now.system)) return 0;
  const at = before.wire.findIndex((message, index) => !isSame(message, now.wire[index]));
  return at === -1 ? undefined : at;
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

const withoutThinking = /* @__PURE__ */ memoize((wire: WireMessage): WireMessage => {
  const content = wire.content.filter((block) => !isThinkingBlock(block));
  return content.length === wire.content.length ? wire : { ...wire, content };
});
