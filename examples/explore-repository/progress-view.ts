// Shows the progress of a run: the text of the model, and a line for each tool call. In a terminal, the line of a call is redrawn
// until the call ends.

import type { LoopEvent } from "turnwright";
import { createLiveLines } from "./live-lines.ts";
import { createTextFlow, type Terminal } from "./terminal.ts";
import { formatRow, type ToolRow } from "./tool-row.ts";

export interface ProgressView {
  show(event: LoopEvent): void;
  close(): void;
}

export function createProgressView(terminal: Terminal): ProgressView {
  const flow = createTextFlow(terminal);
  const rows = new Map<string, ToolRow>();
  let waitsFor = "";
  /** True if the last printed line shows a call. Text after such a line starts with an empty line. */
  let isBelowCalls = false;

  const live = createLiveLines(terminal, (spinner) => {
    const lines = [...rows.values()].map((row, index) =>
      formatRow(row, { bracket: bracketAt(index, rows.size), spinner }, terminal),
    );
    return waitsFor === "" ? lines : [...lines, terminal.paint("dim", `   ${spinner} ${waitsFor}`)];
  });

  const showText = (text: string): void => {
    waitsFor = "";
    if (terminal.isLive) live.erase();
    if (isBelowCalls) terminal.write("\n");
    isBelowCalls = false;
    flow.add(text);
  };

  const showWaiting = (what: string): void => {
    flow.end();
    waitsFor = what;
    if (terminal.isLive) live.draw();
  };

  const showCall = (event: Extract<LoopEvent, { callId: string }>): void => {
    flow.end();
    waitsFor = "";
    if (event.type === "tool-start") rows.set(event.callId, { name: event.name, args: event.args, startedAt: performance.now() });
    const row = rows.get(event.callId);
    if (row !== undefined && event.type === "tool-progress") row.progress = String(event.data);
    if (row !== undefined && event.type === "tool-end") row.end = event;
    if (terminal.isLive) live.draw();
    else if (row?.end !== undefined)
      terminal.write(`${formatRow(row, { bracket: rows.size > 1 ? "∥" : " ", spinner: "" }, terminal)}\n`);
  };

  const endIteration = (): void => {
    flow.end();
    waitsFor = "";
    if (terminal.isLive) live.keep();
    isBelowCalls ||= rows.size > 0;
    rows.clear();
  };

  return {
    show(event) {
      if (event.type === "iteration-start") showWaiting("waiting for the model");
      if (event.type === "reasoning-delta") showWaiting("the model thinks");
      if (event.type === "text-delta") showText(event.text);
      if (event.type === "tool-args-delta") showWaiting(`the model writes a call of ${event.name}`);
      else if ("callId" in event) showCall(event);
      if (event.type === "iteration-end") endIteration();
    },
    close() {
      live.close();
      endIteration();
    },
  };
}

function bracketAt(index: number, count: number): string {
  if (count < 2) return " ";
  if (index === 0) return "┌";
  return index === count - 1 ? "└" : "│";
}
