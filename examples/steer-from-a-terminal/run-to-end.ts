// Starts or continues a run, and shows its progress. Saves the run if it is suspended.

import {
  type Clock,
  type LoopControl,
  type LoopEvent,
  type LoopResult,
  memoryJournal,
  type Message,
  type Provider,
  streamToolLoop,
  type Tool,
  type UserMessage,
} from "turnwright";
import type { RunFile, SavedRun } from "./run-file.ts";
import type { Screen } from "./screen.ts";

export interface RunPorts {
  readonly provider: Provider;
  readonly tools: readonly Tool[];
  readonly screen: Screen;
  readonly file: RunFile;
  readonly clock?: Clock | undefined;
}

export interface RunTask {
  readonly control: LoopControl;
  readonly messages: readonly Message[];
  readonly saved?: SavedRun | undefined;
}

// #region run
/** If the run is suspended, saves it in the file. */
export async function runToEnd({ control, messages, saved }: RunTask, ports: RunPorts): Promise<LoopResult> {
  const { provider, tools, clock, screen, file } = ports;
  // Sends the messages that the model had not read when the run was suspended.
  for (const message of saved?.undelivered ?? []) control.steer(message);
  const runId = saved?.runId ?? crypto.randomUUID();
  const journal = memoryJournal(saved?.journal);
  const limits = { maxIterations: 30 };

  const stream = streamToolLoop({ provider, tools, messages, control, runId, journal, limits, clock });
  for await (const event of stream) showEvent(event, screen);
  const result = await stream.result;

  if (result.status === "suspended") {
    await file.save({ runId, messages, journal: journal.toJSON(), undelivered: result.undelivered });
  } else if (saved !== undefined) {
    await file.clear();
  }
  return result;
}
// #endregion run

function showEvent(event: LoopEvent, screen: Screen): void {
  // A continued run replays the events before the suspension. The user has seen them.
  if (event.replayed === true) return;
  if (event.type === "text-delta") screen.write(event.text);
  if (event.type === "tool-start") screen.print(`· ${event.name} ${JSON.stringify(event.args)}`);
  if (event.type === "tool-progress") screen.print(`· ${event.name}: ${String(event.data)}`);
  if (event.type === "tool-end") screen.print(`· ${event.name}: ${event.outcome}`);
  if (event.type === "steered") screen.print(`» sent: ${toText(event.message)}`);
}

export function toText({ content }: UserMessage): string {
  return typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : `(${part.type})`)).join("");
}
