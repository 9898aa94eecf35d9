import type { DeliberateGate } from "turnwright";
import { createDeliberateMode } from "turnwright/middleware";

export function gateFor(text: string): DeliberateGate {
  return createDeliberateMode({ triggers: { look: "look it up" } }).forTurn({ text });
}
