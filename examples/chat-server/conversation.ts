// A conversation of the chat, with at most one live run.

import { createLoopControl, type LoopEvent, type LoopResult, type Provider, type Tool, type UserMessage } from "turnwright";
import { type ConversationStore, createConversation } from "turnwright/conversation";

export interface ChatPorts {
  readonly provider: Provider;
  readonly tools: readonly Tool[];
  readonly store: ConversationStore;
  onEnd?(result: LoopResult): void;
}

interface Reader {
  /** Aborts when the user closes the tab. */
  readonly signal: AbortSignal;
  /** Sends an event to the page. The promise resolves when the page is ready for another event. */
  send(event: object): void | Promise<void>;
}

/** A chat whose answer is being written. It accepts messages until the last answer has ended. */
export interface LiveChat {
  /** Answers a question and all its follow-ups. Resolves after the last answer. */
  answer(question: string, reader: Reader): Promise<void>;
  /**
   * Asks another question while an answer is being written. Before the first tool call, the question interrupts the run, and the
   * next run answers both questions. Later, the question waits until the run ends.
   */
  followUp(question: string): void;
  steer(message: string): void;
  stop(): void;
}

export function openChat(id: string, { provider, tools, store, onEnd }: ChatPorts): LiveChat {
  const control = createLoopControl();
  const options = { provider, tools, control, limits: { maxIterations: 20, wallClockMs: 300_000 } };
  const conversation = createConversation({ id, store, options });
  /** Messages for a run that was already ending. */
  let late: readonly UserMessage[] = [];
  let isStopped = false;

  // #region follow-ups
  async function answer(question: string, { send, signal }: Reader): Promise<void> {
    late = [{ role: "user", content: question }];
    for (let isDone = false; !isDone;) {
      const messages = late;
      late = [];
      const stream = conversation.stream(messages, { signal });
      for await (const event of stream) await show(event, send);
      const result = await stream.result;
      onEnd?.(result);
      await send({ type: "run-end", status: result.status, reason: result.reason.kind });
      // `undelivered` has messages that arrived too late for this run. The next run begins with them.
      const isAnswered = result.undelivered.length === 0 && result.reason.kind !== "interrupted" && late.length === 0;
      isDone = isStopped || result.status === "stopped-by-user" || isAnswered;
    }
  }

  /** Passes a message to the live run. If the run is already ending, the message waits for the next run. */
  function tell(verb: "interrupt" | "steer", content: string): void {
    if (control[verb](content) === "finished") late = [...late, { role: "user", content }];
  }
  // #endregion follow-ups

  return {
    answer,
    followUp: (question) => tell("interrupt", question),
    steer: (message) => tell("steer", message),
    stop() {
      isStopped = control.stop() === "finished";
    },
  };
}

/** Does not send tool arguments, tool results and errors, because users must not see them. */
function show(event: LoopEvent, send: Reader["send"]): void | Promise<void> {
  const { type } = event;
  if (type === "text-delta") return send({ type, text: event.text });
  if (type === "tool-start") return send({ type, name: event.name });
  if (type === "tool-end") return send({ type, name: event.name, outcome: event.outcome });
  if (type === "steered") return send({ type, text: event.message.content });
}
