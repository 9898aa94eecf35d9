import { isSpending } from "../shared/event-table.ts";
import { checkFields, type LoopEventType, type WaitingCall } from "../core/kit.ts";
import type { Json, LoopEvent, LoopEvents, LoopStatus } from "../core/index.ts";
import { addToCost, mayBeDiscarded, noCost, toCallPath, toPlain } from "../web/page-values.ts";
import type { EventItem, EventMapper } from "../web/chunk-batches.ts";
import { toBrokenChunks, toEndingChunks } from "./ending-chunks.ts";
import { EmittedParts, MessageWriter } from "./message-writer.ts";
import { toUserParts } from "./to-ui-messages.ts";
import { isDeferred, ToolParts, type ToolPart } from "./tool-parts.ts";
import type {
  UICompaction,
  UICost,
  UIMessageChunk,
  UIVersion,
  UINestedCall,
  UINestedProgress,
  UIQuestion,
} from "./ui-message-chunk.ts";
import { messageChecks, type UIMessageOptions } from "./ui-message-options.ts";

interface Run {
  readonly path: readonly string[];
  text: string;
  /** The text before the current iteration. If an attempt is discarded, this text is shown again. */
  before: string;
  readonly calls: Map<string, { name: string; state: UINestedCall["state"] }>;
  status: LoopStatus | "running";
}

/**
 * A preliminary output is sent when the text is 1/8 longer than in the previous output. Each output repeats the whole text.
 * Because outputs become rarer, the total size of all outputs stays proportional to the text.
 */
const share = 8;
/** The minimum number of new characters before another preliminary output is sent. */
const leastNew = 200;

class NestedProgress {
  readonly #runs = new Map<string, Run>();
  #progress: Json | undefined;
  #length = 0;
  /** The value of `#length` when the last preliminary output was made. */
  #sent = 0;

  get hasRuns(): boolean {
    return this.#runs.size > 0;
  }

  /**
   * True if a nested run is suspended. The outer call then ends as `interrupted`, and continues when the outermost run is
   * resumed.
   */
  get isSuspended(): boolean {
    return [...this.#runs.values()].some(({ status }) => status === "suspended");
  }

  /** Stores the most recent value that the tool itself passed to `context.progress`. */
  setProgress(data: unknown): void {
    this.#progress = toPlain(data);
  }

  /** Adds an event of a nested run. Returns true if a new preliminary output must be sent. */
  note(event: LoopEvent): boolean {
    const run = this.#runOf(event);
    if (event.type !== "text-delta") return noteFact(run, event);
    run.text += event.text;
    this.#length += event.text.length;
    return this.#length - this.#sent >= Math.max(leastNew, this.#sent / share);
  }

  toOutput(): UINestedProgress {
    this.#sent = this.#length;
    const runs = [...this.#runs.values()].map(({ path, text, calls, status }) => ({
      path,
      text,
      calls: [...calls].map(([callId, call]) => ({ callId, ...call })),
      status,
    }));
    return this.#progress === undefined ? { runs } : { runs, progress: this.#progress };
  }

  #runOf({ runId, path = [] }: LoopEvent): Run {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    const run: Run = { path, text: "", before: "", calls: new Map(), status: "running" };
    this.#runs.set(runId, run);
    return run;
  }
}

function noteFact(run: Run, event: LoopEvent): boolean {
  const { type } = event;
  if (type === "iteration-start") run.before = run.text;
  else if (type === "attempt-discarded") run.text = run.before;
  else if (type === "tool-start") run.calls.set(event.callId, { name: event.name, state: "running" });
  else if (type === "tool-end") run.calls.set(event.callId, { name: event.name, state: event.outcome });
  else if (type === "run-end") run.status = event.status;
  else if (type === "iteration-end")
    for (const { callId, name, outcome } of event.calls) run.calls.set(callId, { name, state: outcome });
  else return false;
  return type !== "iteration-start";
}

type Decided = LoopEvents["approval-decided"];

export interface ApprovalTargets {
  readonly writer: MessageWriter;
  readonly tools: ToolParts;
  readonly version: UIVersion;
}

type AskedUser = Omit<UIQuestion, "toolCallId" | "toolName">;

class ApprovalParts {
  readonly #writer: MessageWriter;
  readonly #tools: ToolParts;
  readonly #version: UIVersion;
  /** The questions that wait in the process of the run, by id. */
  readonly #live = new Map<string, AskedUser>();

  constructor({ writer, tools, version }: ApprovalTargets) {
    this.#writer = writer;
    this.#tools = tools;
    this.#version = version;
  }

  /** Shows a waiting call on the page. If the call waits for a decision, requests this decision. */
  request(call: WaitingCall): void {
    const part = call.name === "" ? undefined : this.#tools.add(toCallPath(call), call);
    if (part !== undefined) this.#tools.show(part, call.name);
    const { question, id, waitsFor } = call;
    if (waitsFor === "answer") this.#writeWait(call, part);
    if (part === undefined) return;
    if (waitsFor === "approval") return this.#ask(part, id);
    const fromPage = call.fromPage === true;
    // The part still shows an approval. Without a reset, `useChat` would send this approval again.
    const isPlain = waitsFor === "result" && question === undefined;
    if (part.isApproved && this.#version !== 5) this.#tools.showAgain(part, fromPage && isPlain);
    if (question !== undefined)
      this.#writeQuestion(part, { ...question, questionId: this.#tools.toId(id), isLive: false, fromPage });
  }

  /** The page gets the facts of a wait only if it may answer. */
  #writeWait({ id, what = "", facts = null, schema, fromPage }: WaitingCall, part: ToolPart | undefined): void {
    if (fromPage !== true) return;
    const waitId = this.#tools.toId(id);
    const call = part === undefined ? {} : { toolCallId: part.id, toolName: part.name };
    this.#writer.writeBeside({
      type: "data-wait",
      id: waitId,
      data: { waitId, what, facts, ...(schema && { schema }), ...call },
    });
  }

  #writeQuestion({ id: toolCallId, name: toolName }: ToolPart, question: AskedUser): void {
    const data = { ...question, toolCallId, toolName };
    this.#writer.writeBeside({ type: "data-question", id: question.questionId, data });
  }

  /** Shows a question that waits in the process of the run. */
  askLive(part: ToolPart, { id: questionId, question, fromPage }: LoopEvents["question-asked"]): void {
    this.#live.set(questionId, { ...question, questionId, isLive: true, fromPage: fromPage === true });
    this.#tools.show(part);
    this.#showLive(part, questionId);
  }

  endLive(part: ToolPart, { id, answer }: LoopEvents["question-answered"]): void {
    this.#showLive(part, id, answer);
    this.#live.delete(id);
  }

  #showLive(part: ToolPart, id: string, answer?: UIQuestion["answer"]): void {
    const question = this.#live.get(id);
    if (question !== undefined) this.#writeQuestion(part, answer === undefined ? question : { ...question, answer });
  }

  /** Shows a decision about a tool call of the outermost run. */
  decide(key: string, decided: Decided): void {
    const part = this.#tools.find(key);
    if (part !== undefined && part.state !== "new") this.#show(part, key, decided);
  }

  /**
   * Shows a decision about a tool call of a nested run. The page has a part for a call of a nested run only if this call has
   * waited for the page.
   */
  decideNested(key: string, decided: Decided): void {
    const part = this.#tools.find(key);
    if (part === undefined || decided.question === undefined) return;
    this.#tools.show(part, decided.name);
    this.#show(part, key, decided);
  }

  #show(part: ToolPart, key: string, { args, decision, reason, name, callId, question }: Decided): void {
    if (args !== undefined) this.#tools.edit(part, args);
    const hasWaited = question !== undefined;
    part.isApproved = hasWaited && isApproval(decision);
    if (!hasWaited && decision !== "deny") return;
    const id = key.slice(0, key.length - callId.length) + (question ?? callId);
    const approvalId = this.#tools.toId(id);
    if (this.#version === 5 && hasWaited) {
      const data = { approvalId, toolCallId: part.id, toolName: name, input: part.args, decision };
      this.#writer.writeBeside({ type: "data-approval", id: approvalId, data });
    }
    if (this.#version !== 7 || decision === "failed") return;
    this.#ask(part, id, hasWaited ? {} : { isAutomatic: true });
    const approved = isApproval(decision);
    this.#writer.writeBeside({ type: "tool-approval-response", approvalId, approved, ...(reason !== undefined && { reason }) });
  }

  #ask({ id: toolCallId, name, args }: ToolPart, question: string, more: { readonly isAutomatic?: true } = {}): void {
    const approvalId = this.#tools.toId(question);
    if (this.#version !== 5) this.#writer.writeBeside({ type: "tool-approval-request", approvalId, toolCallId, ...more });
    else {
      const data = { approvalId, toolCallId, toolName: name, input: args };
      this.#writer.write({ type: "data-approval", id: approvalId, data });
    }
  }
}

function isApproval(decision: Decided["decision"]): boolean {
  return decision === "approve" || decision === "modify";
}

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
    if (isSpending(event)) this.#count(event);
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
