// A gate by what the user said.

import type { DeliberateGate } from "turnwright";
import { createDeliberateMode } from "turnwright/deliberate";

/** The gate of one turn. */
export function gateFor(text: string): DeliberateGate {
  return createDeliberateMode({ triggers: { look: "look it up" } }).forTurn({ text });
}
