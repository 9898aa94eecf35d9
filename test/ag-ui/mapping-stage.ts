import { EventSchema } from "@ag-ui/core/schemas";
import { expect } from "vitest";
import type { LoopEvent } from "turnwright";
import { type AGUIEvent, createAGUIMapper } from "turnwright/ag-ui";
import type { AGUIOptions } from "../../src/ag-ui/ag-ui-options.ts";

export { play, saved } from "../ui-message-stream/mapping-stage.ts";

export function toEvents(events: readonly LoopEvent[], options: AGUIOptions = {}): readonly AGUIEvent[] {
  const mapper = createAGUIMapper(options);
  return [...events.flatMap((event) => mapper.map(event)), ...mapper.end()];
}

/** Checks events with AG-UI 1.0's validator. Fields that the validator does not know are errors too. */
export function checkEvents(events: readonly AGUIEvent[]): void {
  for (const event of events) {
    const sent = JSON.parse(JSON.stringify(event)) as AGUIEvent;
    const parsed = EventSchema.safeParse(sent);
    expect({ sent, issues: parsed.error?.issues }).toEqual({ sent, issues: undefined });
  }
}

export const lines = (events: readonly AGUIEvent[]): string[] =>
  events
    .filter((event) => event.type !== "CUSTOM" || event.name !== "cost")
    .map(({ type, ...fields }) => {
      const values = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
      return [type, ...values].join(" ");
    });
