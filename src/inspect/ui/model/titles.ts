// The titles of entries.

import { describeEnding } from "./describe-ending.ts";
import { describeLine } from "./describe-line.ts";
import type { Entry } from "./entries.ts";

const roles = { user: "User", assistant: "Assistant", tool: "Tool results" } as const;

export function titleOf({ content, run }: Entry): string {
  switch (content.kind) {
    case "system":
      return "System";
    case "message":
      return content.isAdded ? `${roles[content.message.role]} message, added to the request` : roles[content.message.role];
    case "stream":
      return content.stream.title;
    case "call":
      return content.call.name;
    case "note":
      return describeLine(content.line).title;
    case "nested":
      return `${content.title}: ${run.provider} ${run.model}`;
    case "end":
      return describeEnding(run).sentence;
  }
}
