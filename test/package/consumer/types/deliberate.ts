// A gate that depends on the words of the user.

import type { DeliberateGate } from "turnwright";
import { createDeliberateMode } from "turnwright/deliberate";

/** The gate for one user message. */
export function gateFor(text: string): DeliberateGate {
  return createDeliberateMode({ triggers: { look: "look it up" } }).forTurn({ text });
}
