import type { Message } from "turnwright";
import { type Bounds, createLoopState, nextStep, type NextStep } from "turnwright/parts";

export function begin(messages: readonly Message[], bounds: Bounds): NextStep {
  return nextStep(createLoopState({ messages, heldIds: [], contextItems: [], priced: false }), bounds);
}
