// Checks a new message from a user.

import { type Check, isRecord } from "../core/kit.ts";
import type { LoopError, UserMessage } from "../core/index.ts";
import { isFilled, refuseOption } from "../shared/errors/check-fields.ts";
import { toUserMessage as copyUserMessage } from "../shared/transcript.ts";
import type { PageMessage } from "../web/read-user-message.ts";

/** Returns the error for a value that is not a new message, with advice if the value looks like a message in another format. */
function refuseMessage(message: unknown): LoopError<"invalid-option"> {
  return refuseOption("message", messageCheck, message);
}

const messageCheck: Check = [
  'a non-blank string or a non-empty message with the role "user"',
  () => false,
  (message) => {
    if (!isRecord(message)) return undefined;
    if (Array.isArray(message["parts"]))
      return {
        received: "a message of useChat",
        instead: 'the "message" that readUIChatRequest returns, from "turnwright/ui-message-stream"',
      };
    const isRoleMissing = message["role"] === undefined && message["content"] !== undefined;
    return isRoleMissing ? { received: "an object without a role", instead: '{ role: "user", content }' } : undefined;
  },
];

/** Returns the new user message. Rejects other roles, because a web page could otherwise forge messages from the model or from tools. */
export function toPageMessage(message: unknown): PageMessage {
  if (typeof message === "string" && isFilled(message)) return { role: "user", content: message };
  const copy: PageMessage | undefined = copyUserMessage(message);
  if (copy !== undefined && copy.content !== "") return copy;
  throw refuseMessage(message);
}

/** Like `toPageMessage`, but for a message that cannot request a new answer. */
export function toUserMessage(message: unknown): UserMessage {
  const { again: _, edited: _edited, ...own } = toPageMessage(message);
  return own;
}
