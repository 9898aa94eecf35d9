// Counts the events of random programs, so that a test can show that every kind occurs.

import type { LoopOptions, LoopResult } from "turnwright";
import type { WaitingCall } from "turnwright/kit";
import { recordEvents } from "turnwright/testing";
import type { StrictRequest } from "../../src/testing/strict/answer-request.ts";

/** The moves that the programs of a test must have. */
export const allMoves: readonly string[] = [
  ...["approve", "deny", "modify", "approve after waiting", "deny after waiting", "modify after waiting"],
  ...[
    "asks waited",
    "asks completed",
    "outside deferred",
    "outside completed",
    "ended approval-required",
    "ended result-required",
  ],
  ...["restart", "context_release completed", "masked", "handoff", "compaction-end", "find_tools completed", "output"],
  ...["agent completed", "nested call completed", "nested call waited", "parallel agents"],
  ...["call blocked", "call failed", "call invalid-input", "call malformed", "call timed-out", "call truncated"],
  ...["attempt-discarded", "request-adjusted", "steered", "ended drained", "ended interrupted", "ended stopped"],
  ...["ended length", "ended provider-error", "ended stream-idle"],
  ...["sent web_search_tool_result", "sent code_execution_tool_result", "sent an open call", "sent compaction"],
  ...["sent tool_search_tool_result", "sent web_search_call", "sent tool_search_output"],
  ...["sent executableCode", "sent toolResponse"],
];

/** How often something happened. */
export type MoveCounts = Map<string, number>;

function add(moves: MoveCounts, move: string): void {
  moves.set(move, (moves.get(move) ?? 0) + 1);
}

export interface MoveWatch {
  readonly events: NonNullable<LoopOptions["events"]>;
  /** Adds what the events and the result show. */
  end(result: LoopResult): void;
}

/** Counts what happens in a run. */
export function watchRun(moves: MoveCounts): MoveWatch {
  const recording = recordEvents(undefined, [
    "approval-decided",
    "attempt-discarded",
    "compaction-end",
    "handoff",
    "masked",
    "request-adjusted",
    "restart",
    "steered",
    "tool-end",
  ]);
  return {
    events: recording.emitter,
    end({ reason, output, messages }) {
      for (const event of recording.events) add(moves, event.type);
      for (const { decision, question } of recording.of("approval-decided"))
        add(moves, `${decision}${question === undefined ? "" : " after waiting"}`);
      for (const { outcome, name, path } of recording.of("tool-end")) {
        add(moves, `call ${outcome}`);
        if (path !== undefined) add(moves, `nested call ${outcome}`);
        add(moves, `${name} ${outcome}`);
      }
      add(moves, `ended ${reason.kind}`);
      if ("calls" in reason) watchWaiting(reason.calls, moves);
      if (output !== undefined) add(moves, "output");
      for (const message of messages) {
        const done = message.role === "tool" ? message.results : [];
        if (done.filter(({ name, outcome }) => name === "agent" && outcome === "completed").length > 1)
          add(moves, "parallel agents");
      }
    },
  };
}

function watchWaiting(calls: readonly WaitingCall[], moves: MoveCounts): void {
  for (const { name, question } of calls) if (question !== undefined) add(moves, `${name} waited`);
  if (calls.some(({ id }) => id.includes("/"))) add(moves, "nested call waited");
}

const serverTypes =
  /"(web_search_tool_result|code_execution_tool_result|compaction|tool_search_tool_result|web_search_call|tool_search_output|executableCode|toolResponse)"/g;

/** Adds the results of the service's tools in the history of requests. */
export function watchRequests(requests: readonly StrictRequest[], moves: MoveCounts): void {
  const last = requests[requests.length - 1];
  for (const { body } of requests) {
    const { messages, input, contents } = body;
    for (const [, type = ""] of JSON.stringify([messages, input, contents]).matchAll(serverTypes)) add(moves, `sent ${type}`);
  }
  if (last !== undefined && isPaused(last)) add(moves, "sent an open call");
}

function isPaused({ body }: StrictRequest): boolean {
  const text = JSON.stringify(body["messages"] ?? null);
  const ids = [...text.matchAll(/"id":"(srvtoolu_\w+)"/g)].map(([, id]) => id);
  return ids.some((id) => !text.includes(`"tool_use_id":"${id}"`));
}
