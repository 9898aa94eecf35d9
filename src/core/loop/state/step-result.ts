// A message that was sent to a run with its control.

import type { UserMessage } from "../../types/message.ts";

/**
 * A message that was sent to a run. `verb` is "steer" for a message to the model, and "interrupt" for a message that ends the
 * run. `verb` is "keep" for a message that is only returned in the result.
 */
export interface InboxMessage {
  readonly verb: "steer" | "interrupt" | "keep";
  readonly message: UserMessage;
}
