// A session in a terminal. A typed line starts a run, or steers the live run. Commands stop, kill or suspend the run.

import { createLoopControl, type LoopControl, type LoopResult, type Message } from "turnwright";
import type { SavedRun } from "./run-file.ts";
import { type RunPorts, runToEnd, toText } from "./run-to-end.ts";

interface Session {
  readonly ports: RunPorts;
  messages: readonly Message[];
  live: LoopControl | undefined;
  /** Messages that the last run did not read before it ended. The next run sends them. */
  waiting: readonly string[];
  /** Resolves when the latest run has ended. */
  ended: Promise<void>;
}

/** Continues a saved run immediately. Ends when the input and the latest run have ended. */
export async function runSession(ports: RunPorts, saved: SavedRun | undefined): Promise<void> {
  const { screen } = ports;
  const session: Session = { ports, messages: [], live: undefined, waiting: [], ended: Promise.resolve() };
  screen.print(help);
  screen.onInterrupt(() => interrupt(session));
  screen.onLine((line) => take(session, line.trim()));
  if (saved !== undefined) goOn(session, saved);
  await screen.closed;
  do await session.ended;
  while (session.live !== undefined);
}

const help = "A line steers the run. /stop · /kill · /drain suspends · /resume goes on · /quit. Ctrl-C stops, and again kills.";

// #region take
function take(session: Session, line: string): void {
  const command = commands.get(line);
  if (command !== undefined) command(session);
  else if (line.startsWith("/")) session.ports.screen.print(help);
  else if (line !== "") say(session, line);
}

const commands: ReadonlyMap<string, (session: Session) => void> = new Map([
  ["/stop", ({ live }) => live?.stop({ requester: "/stop" })],
  ["/kill", ({ live }) => live?.kill()],
  ["/drain", drain],
  ["/resume", resume],
  ["/quit", quit],
]);

/** Starts a run with the message, or steers the live run with it. */
function say(session: Session, line: string): void {
  const { live, messages, ports } = session;
  if (live === undefined) start(session, [...messages, { role: "user", content: line }]);
  else if (live.steer(line) === "accepted") ports.screen.print("(goes along with the next request)");
  else session.waiting = [...session.waiting, line];
}

function drain({ live, ports }: Session): void {
  if (live?.drain() === "accepted") ports.screen.print("(suspends before the next request)");
}

function interrupt({ live, ports: { screen } }: Session): void {
  if (live === undefined) return screen.close();
  if (live.hasStopRequest()) return void live.kill();
  live.stop({ requester: "Ctrl-C" });
  screen.print("(stopping; Ctrl-C again kills)");
}
// #endregion take

function quit(session: Session): void {
  session.waiting = [];
  session.live?.stop({ requester: "/quit" });
  session.ports.screen.close();
}

function resume(session: Session): void {
  const { screen, file } = session.ports;
  if (session.live !== undefined) return screen.print("A run is already in progress.");
  session.ended = file
    .load()
    .then((saved) => (saved === undefined ? screen.print("No run is suspended.") : goOn(session, saved)))
    .catch((error: unknown) => screen.print(`${file.path} cannot be used: ${String(error)}`));
}

function goOn(session: Session, saved: SavedRun): void {
  const asked = saved.messages.at(-1);
  session.ports.screen.print(`Going on with: ${asked?.role === "user" ? toText(asked) : saved.runId}`);
  start(session, saved.messages, saved);
}

function start(session: Session, messages: readonly Message[], saved?: SavedRun): void {
  const { ports } = session;
  if (session.live !== undefined) return ports.screen.print("A run is already in progress.");
  const control = createLoopControl();
  session.live = control;
  session.ended = runToEnd({ control, messages, saved }, ports)
    .then((result) => conclude(session, result))
    .catch((error: unknown) => ports.screen.print(`The run failed: ${String(error)}`))
    .finally(() => {
      session.live = undefined;
      const [next, ...later] = session.waiting;
      session.waiting = later;
      if (next !== undefined) say(session, next);
    });
}

function conclude(session: Session, result: LoopResult): void {
  const { screen, file } = session.ports;
  const { status, reason, iterations, toolCallsExecuted, error, undelivered } = result;
  screen.print(`[${status}: ${reason.kind}] iterations: ${iterations}, calls: ${toolCallsExecuted}`);
  if (error !== undefined) screen.print(error.message);
  for (const message of undelivered) screen.print(`not delivered: ${toText(message)}`);
  // A suspended run continues from its journal, so the session does not keep its transcript.
  if (status !== "suspended") session.messages = result.messages;
  else screen.print(`Saved in ${file.path}. /resume goes on, and so does starting this program again.`);
}
