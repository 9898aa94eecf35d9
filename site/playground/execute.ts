// Runs the program of the editor: imports it as a module of this page, and calls `runToolLoop` with what it exports.

import {
  type LoopControl,
  type LoopEvent,
  type LoopOptions,
  type LoopResult,
  type Middleware,
  type ModelRequest,
  runToolLoop,
} from "turnwright";
import { createMockProvider, type MockMessage, text } from "turnwright/testing";
import { runLog } from "../../src/inspect/log/middleware.ts";
import { type SavedRun, savingJournal } from "./saved-run.ts";

/** The exports of a program. All others are options of `runToolLoop`. */
interface Program extends Partial<LoopOptions> {
  readonly question?: string;
  readonly script?: readonly MockMessage[];
}

export interface Execution {
  readonly code: string;
  readonly run: SavedRun;
  readonly control: LoopControl;
  readonly answers: LoopOptions["answers"];
  /** Gets the lines of the run log. */
  write(line: string): void;
  on(event: LoopEvent): void;
}

async function load(code: string): Promise<Program> {
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    // The bundler would otherwise look for the module.
    const name = url;
    return { ...((await import(name)) as Program) };
  } finally {
    URL.revokeObjectURL(url);
  }
}

export async function execute({ code, run, control, answers, write, on }: Execution): Promise<LoopResult> {
  const { question = "Hello!", script = [text("Hello!")], middleware = [], ...options } = await load(code);
  // A run that goes on after a reload needs the next answer, not the first one.
  const answer = ({ messages }: ModelRequest): MockMessage | undefined =>
    script[messages.filter(({ role }) => role === "assistant").length];
  const watch: Middleware = { name: "watch", pure: true, on };
  return runToolLoop({
    provider: createMockProvider(answer, { record: false }),
    messages: [{ role: "user", content: question }],
    ...options,
    middleware: [...middleware, watch, runLog({ to: { write } })],
    runId: run.runId,
    journal: savingJournal(run),
    control,
    answers,
  });
}
