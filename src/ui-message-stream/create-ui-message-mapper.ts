import { checkFields, type LoopEvent, type LoopEvents, type LoopEventType } from "../core/entry-kit.ts";
import { addToCost, type EventItem, type EventMapper, mayBeDiscarded, noCost } from "../core/web-kit.ts";
import { ApprovalParts } from "./approval-parts.ts";
import { toBrokenChunks, toEndingChunks } from "./ending-chunks.ts";
import { EmittedParts, MessageWriter } from "./message-writer.ts";
import { NestedProgress } from "./nested-progress.ts";
import { toUserParts } from "./to-ui-messages.ts";
import { isDeferred, ToolParts } from "./tool-parts.ts";
import type { UICompaction, UICost, UIMessageChunk, UIVersion } from "./ui-message-chunk.ts";
import { messageChecks, type UIMessageOptions } from "./ui-message-options.ts";

/** Converts the events of a run to chunks of a UI message, one event at a time. */
export type UIMessageMapper = EventMapper<UIMessageChunk>;

/**
 * Creates a mapper that makes the same chunks as `toUIMessageStream`. Use the mapper to send these chunks in another way, for
 * example over a WebSocket. Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const mapper = createUIMessageMapper({ version: 7 });
 * for await (const event of events) for (const chunk of mapper.map(event)) socket.send(JSON.stringify(chunk));
 * for (const chunk of mapper.end()) socket.send(JSON.stringify(chunk));
 */
export function createUIMessageMapper(options: UIMessageOptions = {}): UIMessageMapper {
  checkFields("options", options, messageChecks);
  return new MessageMapper(options);
}

type Handlers = { readonly [Type in LoopEventType]?: (event: LoopEvents[Type]) => void };

class MessageMapper implements UIMessageMapper {
  readonly #options: UIMessageOptions;
  readonly #version: UIVersion;
  readonly #writer: MessageWriter;
  readonly #tools: ToolParts;
  readonly #approvals: ApprovalParts;
  readonly #emitted: EmittedParts;
  readonly #nested = new Map<string, NestedProgress>();
  #isStarted = false;
  /** True if the page already shows the replayed part of the run, so that replayed events must not be sent. */
  #skipsRecalled: boolean;
  /**
   * The most recent `run-end`. This event is handled only when the source ends, because the events of a resumed run may follow.
   */
  #ending: LoopEvents["run-end"] | undefined;
  #cost: UICost = noCost;
  /** True after the events of a resumed run have begun. */
  #isResumed = false;
  #steered = 0;
  readonly #handlers: Handlers = {
    "iteration-start": (event) => {
      this.#emitted.endAll();
      this.#writer.beginStep(event);
      this.#tools.step += 1;
    },
    "reasoning-delta": (event) => {
      if (this.#options.sendReasoning !== false) this.#addText("reasoning", event);
    },
    "tool-args-delta": (event) => this.#tools.addDelta(event.callId, event),
    "tool-args-end": (event) => {
      const part = this.#tools.add(event.callId, event);
      if (!part.isUnreadable) this.#tools.show(part, event.name);
    },
    "tool-start": ({ callId, name, args }) => {
      this.#writer.release();
      this.#tools.add(callId, { name, args });
    },
    "tool-progress": ({ callId, name, data }) => this.#showProgress(callId, name, data),
    "tool-emit": ({ callId, name, part }) => {
      const shown = this.#tools.add(callId, { name });
      this.#tools.show(shown);
      this.#emitted.add(shown.id, part);
    },
    // A call that was refused has no `tool-start`.
    "tool-end": (event) => {
      this.#writer.release();
      this.#emitted.end(this.#tools.toId(event.callId));
      if (event.outcome === "interrupted" && this.#nested.get(event.callId)?.isSuspended === true) return;
      this.#nested.delete(event.callId);
      this.#tools.end(this.#tools.add(event.callId, event), event);
    },
    "approval-asked": () => this.#writer.release(),
    "approval-decided": (event) => {
      this.#writer.release();
      this.#approvals.decide(event.callId, event);
    },
    "question-asked": (event) => {
      this.#writer.release();
      this.#approvals.askLive(this.#tools.add(event.callId, { name: event.name }), event);
    },
    "question-answered": (event) => this.#approvals.endLive(this.#tools.add(event.callId, { name: event.name }), event),
    "attempt-discarded": (event) => {
      this.#emitted.endAll();
      const dropped = this.#writer.discard(event);
      this.#tools.discard(this.#version === 7, dropped);
    },
    // "unmarked-restart" is for the developer, not for the page.
    notice: ({ kind }) => {
      if (kind !== "unmarked-restart") this.#writer.writeBeside({ type: "data-notice", transient: true, data: { kind } });
    },
    masked: ({ calls, tokensBefore, tokensAfter }) => {
      const toolCallIds = calls.map((callId) => this.#tools.toId(callId));
      this.#writer.writeBeside({ type: "data-masked", transient: true, data: { toolCallIds, tokensBefore, tokensAfter } });
    },
    "compaction-start": ({ cause }) => this.#writer.writeBeside(toCompaction({ state: "started", cause })),
    "compaction-end": ({ outcome, tokensBefore, tokensAfter }) => {
      this.#writer.writeBeside(toCompaction({ state: outcome, tokensBefore, tokensAfter }));
      this.#writeCost();
    },
    "iteration-end": (event) => {
      if (!mayBeDiscarded(event)) this.#writer.release();
      this.#writer.endText();
      this.#writeCost();
    },
    steered: (event) => this.#addSteering(event),
  };

  constructor(options: UIMessageOptions) {
    const { version = 6, from } = options;
    this.#options = options;
    this.#version = version;
    this.#writer = new MessageWriter(version);
    this.#tools = new ToolParts(this.#writer, options);
    this.#approvals = new ApprovalParts({ writer: this.#writer, tools: this.#tools, version });
    this.#emitted = new EmittedParts(this.#writer);
    this.#skipsRecalled = from === "live";
  }

  map(item: EventItem): readonly UIMessageChunk[] {
    const event = "type" in item ? item : item.event;
    if (event.path !== undefined) {
      if (this.#isStarted) this.#mapNested(event, event.path);
    } else if (event.type === "text-delta" && this.#isLive(event)) {
      this.#addText("text", event);
    } else this.#mapOwn(event);
    return this.#writer.take();
  }

  end(failure?: { readonly error: unknown }): readonly UIMessageChunk[] {
    const ending = this.#ending;
    this.#ending = undefined;
    if (!this.#isStarted && failure === undefined) return [];
    this.#emitted.endAll();
    if (ending !== undefined && failure === undefined) this.#close(ending);
    this.#writer.endStep();
    const last =
      ending === undefined || failure !== undefined
        ? toBrokenChunks(this.#options, failure)
        : toEndingChunks(ending, this.#options);
    return [...this.#writer.take(), ...last];
  }

  /** True if `map` can handle a text fragment without the checks of `#mapOwn`. Most events are such fragments. */
  #isLive({ replayed }: LoopEvent): boolean {
    return this.#isStarted && replayed !== true && this.#ending === undefined;
  }

  #mapOwn(event: LoopEvent): void {
    if (!this.#isStarted) this.#start(event.runId);
    else if (this.#ending !== undefined) this.#beginResumed();
    if (event.type === "iteration-end" || event.type === "compaction-end") this.#count(event);
    if (event.type === "run-end") this.#ending = event;
    else if (event.type === "run-start") this.#nested.clear();
    else if (event.replayed === true && this.#skipsRecalled) this.#noteRecalled(event);
    else if (event.type === "text-delta") this.#addText("text", event);
    else if (!("callId" in event) || !this.#tools.isDiscarded(event.callId)) this.#handle(event);
  }

  /** Before a resume, this stream has already counted the streams that the resumed run replays. */
  #count(event: Parameters<typeof addToCost>[1]): void {
    if (event.replayed !== true || !this.#isResumed) this.#cost = addToCost(this.#cost, event);
  }

  #handle<Type extends LoopEventType>(event: { readonly type: Type } & LoopEvents[Type]): void {
    this.#handlers[event.type]?.(event);
  }

  #start(runId: string): void {
    const { messageId = runId, from, metadata: own } = this.#options;
    // The page still shows the metadata of the suspended run.
    const metadata = from === "live" ? { ...own, status: "running", reason: { kind: "running" } } : own;
    this.#isStarted = true;
    this.#tools.setMessage(messageId);
    this.#writer.writeBeside({ type: "start", messageId, ...(metadata !== undefined && { messageMetadata: metadata }) });
  }

  #beginResumed(): void {
    this.#ending = undefined;
    this.#skipsRecalled = true;
    this.#isResumed = true;
  }

  /** Remembers a replayed call that the page already shows, so that later events of the call update the existing part of the message. */
  #noteRecalled(event: LoopEvent): void {
    if (event.type === "attempt-discarded") this.#writer.retries += 1;
    if (event.type === "tool-args-end") this.#tools.add(event.callId, event, true);
    if (event.type !== "tool-end") return;
    this.#nested.delete(event.callId);
    if (!isDeferred(event)) this.#tools.add(event.callId, event).state = "ended";
  }

  #addText(kind: "text" | "reasoning", { text, attempt, isFinal }: LoopEvents["text-delta"]): void {
    if (attempt !== undefined && isFinal !== true && this.#version !== 7 && this.#options.holdAttempts !== false)
      this.#writer.holdBack();
    if (text !== "") this.#writer.writeText(kind, text);
  }

  #addSteering({ message, iteration }: LoopEvents["steered"]): void {
    this.#steered += 1;
    const id = `steered-${iteration}-${this.#steered}`;
    const parts = toUserParts(message.content);
    if (this.#version === 7) this.#writer.write({ type: "steering-message", id, parts });
    else this.#writer.write({ type: "data-steered", id, data: { parts } });
  }

  #writeCost(): void {
    this.#writer.writeBeside({ type: "data-cost", transient: true, data: this.#cost });
  }

  #showProgress(callId: string, name: string, data: unknown): void {
    const nested = this.#nested.get(callId);
    nested?.setProgress(data);
    this.#tools.showProgress(this.#tools.add(callId, { name }), nested?.hasRuns === true ? nested.toOutput() : data);
  }

  #mapNested(event: LoopEvent, path: readonly string[]): void {
    const [outer = ""] = path;
    const part = this.#tools.find(outer);
    if (part === undefined || part.state === "ended" || this.#tools.isDiscarded(outer)) return;
    const progress = this.#nested.get(outer) ?? new NestedProgress();
    this.#nested.set(outer, progress);
    const isWorth = progress.note(event);
    if ("callId" in event) this.#mapNestedCall(event, `${path.join("/")}/${event.callId}`);
    if (isWorth && event.replayed !== true) this.#tools.showProgress(part, progress.toOutput());
  }

  /** Handles an event about a tool call of a nested run. Such a call has its own part on the page only if it waits for the page. */
  #mapNestedCall(event: Extract<LoopEvent, { readonly callId: string }>, key: string): void {
    const isRecalled = event.replayed === true && this.#skipsRecalled;
    if (event.type === "tool-args-end") this.#tools.add(key, event);
    else if (event.type === "question-asked") this.#approvals.askLive(this.#tools.add(key, event), event);
    else if (event.type === "question-answered") this.#approvals.endLive(this.#tools.add(key, event), event);
    else if (event.type === "approval-decided" && !isRecalled) this.#approvals.decideNested(key, event);
    else if (event.type === "tool-end") this.#endNested(event, key, isRecalled);
  }

  #endNested(event: LoopEvents["tool-end"], key: string, isRecalled: boolean): void {
    const part = this.#tools.find(key);
    if (part !== undefined && part.state !== "new" && !isRecalled) this.#tools.end(part, event);
    this.#tools.forget(key);
  }

  /** Ends all open calls at the end of a run. If the run is suspended, shows the waiting calls instead. */
  #close({ status, reason }: LoopEvents["run-end"]): void {
    this.#writer.release();
    this.#writer.endText();
    if (status !== "suspended") return this.#tools.endAll();
    // Replaces preliminary outputs with final outputs. Otherwise, a page with `sendAutomaticallyWhen` would not send decisions.
    for (const [callId, progress] of this.#nested) {
      const part = this.#tools.find(callId);
      if (part !== undefined) this.#tools.showProgress(part, progress.toOutput(), false);
    }
    if ("calls" in reason) for (const call of reason.calls) this.#approvals.request(call);
  }
}

function toCompaction(data: UICompaction): UIMessageChunk {
  return { type: "data-compaction", transient: true, data };
}
