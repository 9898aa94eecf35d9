// What happened in random programs, so that a test can show that everything did happen.

import type { LoopOptions, LoopResult } from "turnwright";
import { recordEvents, type StrictRequest } from "turnwright/testing";

/** What must happen in the programs of a test. */
export const allMoves: readonly string[] = [
  ...["approve", "deny", "modify", "approve after waiting", "deny after waiting", "modify after waiting"],
  ...["question-asked", "question-answered", "outside deferred", "ended approval-required", "ended result-required"],
  ...["restart", "context_release completed", "masked", "handoff", "compaction-end", "find_tools completed", "output"],
  ...["agent completed", "agent deferred", "nested call completed", "parallel agents"],
  ...["call blocked", "call failed", "call invalid-input", "call malformed", "call timed-out", "call truncated"],
  ...["attempt-discarded", "request-adjusted", "steered", "ended drained", "ended interrupted", "ended stopped"],
  ...["ended length", "ended provider-error", "ended stream-idle", "ended first-chunk", "ended tool-error-cap"],
  ...["sent web_search_tool_result", "sent code_execution_tool_result", "sent an open call", "sent compaction"],
  ...["sent tool_search_tool_result", "sent web_search_call", "sent tool_search_output"],
  ...["sent executableCode", "sent toolResponse"],
];

export interface MoveWatch {
  readonly events: NonNullable<LoopOptions["events"]>;
  /** Adds what the events and the result show. */
  end(result: LoopResult): void;
}

/** Counts what happens in a run. */
export function watchRun(moves: Set<string>): MoveWatch {
  const recording = recordEvents(undefined, [
    "approval-decided",
    "attempt-discarded",
    "compaction-end",
    "handoff",
    "masked",
    "question-asked",
    "question-answered",
    "request-adjusted",
    "restart",
    "steered",
    "tool-end",
  ]);
  return {
    events: recording.emitter,
    end({ reason, output, messages }) {
      for (const event of recording.events) moves.add(event.type);
      for (const { decision, question } of recording.of("approval-decided"))
        moves.add(`${decision}${question === undefined ? "" : " after waiting"}`);
      for (const { outcome, name, path } of recording.of("tool-end")) {
        moves.add(`call ${outcome}`);
        if (path !== undefined) moves.add(`nested call ${outcome}`);
        moves.add(`${name} ${outcome}`);
      }
      moves.add(`ended ${reason.kind}`);
      if (output !== undefined) moves.add("output");
      for (const message of messages) {
        const done = message.role === "tool" ? message.results : [];
        if (done.filter(({ name, outcome }) => name === "agent" && outcome === "completed").length > 1) moves.add("parallel agents");
      }
    },
  };
}

const serverTypes =
  /"(web_search_tool_result|code_execution_tool_result|compaction|tool_search_tool_result|web_search_call|tool_search_output|executableCode|toolResponse)"/g;

/** Adds what requests show: results of the service's tools in the history. */
export function watchRequests(requests: readonly StrictRequest[], moves: Set<string>): void {
  const last = requests[requests.length - 1];
  for (const { body } of requests) {
    const { messages, input, contents } = body;
    for (const [, type = ""] of JSON.stringify([messages, input, contents]).matchAll(serverTypes)) moves.add(`sent ${type}`);
  }
  if (last !== undefined && isPaused(last)) moves.add("sent an open call");
}

function isPaused({ body }: StrictRequest): boolean {
  const text = JSON.stringify(body["messages"] ?? null);
  const ids = [...text.matchAll(/"id":"(srvtoolu_\w+)"/g)].map(([, id]) => id);
  return ids.some((id) => !text.includes(`"tool_use_id":"${id}"`));
}
