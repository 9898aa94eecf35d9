// A conversation of the chat, with at most one live run.

import {
  createLoopControl,
  type LoopEvent,
  type LoopResult,
  type Message,
  type Provider,
  streamToolLoop,
  type Tool,
  type UserMessage,
} from "turnwright";

export interface ConversationPorts {
  readonly provider: Provider;
  readonly tools: readonly Tool[];
  onEnd?(result: LoopResult): void;
}

interface Reader {
  /** Aborts when the user closes the tab. */
  readonly signal: AbortSignal;
  /** Sends an event to the page. The promise resolves when the page is ready for another event. */
  send(event: object): void | Promise<void>;
}

/** A conversation of the chat. `followUp`, `steer` and `stop` return false if no run is live. */
export interface Conversation {
  readonly isLive: boolean;
  /** Answers a question and all its follow-ups. Resolves after the last answer. */
  answer(question: string, reader: Reader): Promise<void>;
  /**
   * Asks another question while an answer is being written. Before the first tool call, this interrupts the run, and the next run
   * answers both questions. Later, the question waits until the run ends.
   */
  followUp(question: string): boolean;
  steer(message: string): boolean;
  stop(): boolean;
}

export function createConversation({ provider, tools, onEnd }: ConversationPorts): Conversation {
  const control = createLoopControl();
  let messages: readonly Message[] = [];
  /** Messages that the next run will answer. */
  let waiting: readonly UserMessage[] = [];
  let isLive = false;
  let isStopped = false;

  // #region follow-ups
  async function answer(question: string, reader: Reader): Promise<void> {
    isLive = true;
    isStopped = false;
    waiting = [{ role: "user", content: question }];
    try {
      while (waiting.length > 0 && !isStopped) await runOnce(reader);
    } finally {
      isLive = false;
    }
    if (waiting.length > 0) await reader.send({ type: "undelivered", texts: waiting.map(toText) });
  }

  /** Makes one run that answers the waiting messages. Messages that the model did not read go back to `waiting`. */
  async function runOnce(reader: Reader): Promise<void> {
    const asked = [...messages, ...waiting];
    waiting = [];
    const stream = streamToolLoop({ provider, tools, messages: asked, control, signal: reader.signal, limits });
    for await (const event of stream) await show(event, reader);

    const result = await stream.result;
    const { status, reason, undelivered } = result;
    // The transcript is valid even if the run failed, so the next question can be appended to it.
    messages = result.messages;
    waiting = [...(reason.kind === "interrupted" ? [reason.message] : []), ...undelivered, ...waiting];
    isStopped ||= status === "stopped-by-user";
    onEnd?.(result);
    await reader.send({ type: "run-end", status, reason: reason.kind });
  }

  /** Passes a message to the live run. If the run is already ending, the message waits for the next run. */
  function tell(verb: "interrupt" | "steer", message: string): boolean {
    if (isLive && control[verb](message) === "finished") waiting = [...waiting, { role: "user", content: message }];
    return isLive;
  }

  function stop(): boolean {
    if (isLive && control.stop() === "finished") isStopped = true;
    return isLive;
  }
  // #endregion follow-ups

  return {
    get isLive() {
      return isLive;
    },
    answer,
    followUp: (question) => tell("interrupt", question),
    steer: (message) => tell("steer", message),
    stop,
  };
}

const limits = { maxIterations: 20, wallClockMs: 300_000 };

/** Sends an event to the page. Tool arguments, tool results and errors are not sent. */
function show(event: LoopEvent, reader: Reader): void | Promise<void> {
  const { type } = event;
  if (type === "text-delta") return reader.send({ type, text: event.text });
  if (type === "tool-start") return reader.send({ type, name: event.name });
  if (type === "tool-end") return reader.send({ type, name: event.name, outcome: event.outcome });
  if (type === "steered") return reader.send({ type, text: toText(event.message) });
}

/** Returns the text of a user message. In this chat, `content` is always a string. */
function toText({ content }: UserMessage): string {
  return typeof content === "string" ? content : "";
}
