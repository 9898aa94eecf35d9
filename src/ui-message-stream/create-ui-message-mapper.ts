import { checkFields } from "../core/kit.ts";
import type { LoopEvents } from "../core/index.ts";
import type { EventMapper } from "../web/chunk-batches.ts";
import { type NestedEvent, PageMapper, selectChunks } from "../web/page-mapper.ts";
import { toBrokenChunks, toEndingChunks } from "./ending-chunks.ts";
import type { UIMessageChunk } from "./ui-message-chunk.ts";
import { messageChecks, type UIMessageOptions } from "./ui-message-options.ts";
import { UIRun } from "./ui-run.ts";

/** Converts a run's events to chunks of a UI message, one event at a time. */
export type UIMessageMapper = EventMapper<UIMessageChunk>;

/**
 * Creates a mapper that produces the same chunks as `toUIMessageStream`. Use the mapper to send these chunks in a different way, for
 * example over a WebSocket. Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const mapper = createUIMessageMapper({ version: 7 });
 * for await (const event of events) for (const chunk of mapper.map(event)) socket.send(JSON.stringify(chunk));
 * for (const chunk of mapper.end()) socket.send(JSON.stringify(chunk));
 */
export function createUIMessageMapper(options: UIMessageOptions = {}): UIMessageMapper {
  checkFields("options", options, messageChecks);
  return selectChunks(new MessageMapper(options), options);
}

class MessageMapper extends PageMapper<UIMessageChunk, UIRun> {
  readonly #options: UIMessageOptions;

  constructor(options: UIMessageOptions) {
    super();
    this.#options = options;
  }

  protected start(runId: string): UIRun {
    const { messageId = runId, from, metadata: own } = this.#options;
    // Replaces the status and reason of the suspended run, which the web page still shows.
    const metadata = from === "live" ? { ...own, status: "running", reason: { kind: "running" } } : own;
    this.send({ type: "start", messageId, ...(metadata !== undefined && { messageMetadata: metadata }) });
    return new UIRun(this.out, messageId, this.#options);
  }

  protected addNested(run: UIRun, event: NestedEvent, isSent: boolean): void {
    run.addNested(event, isSent);
  }

  protected endsCall(run: UIRun, { callId, outcome }: LoopEvents["tool-end"]): boolean {
    if (outcome === "interrupted" && run.isSuspended(callId)) return false;
    run.forgetNested(callId);
    return true;
  }

  protected finish(
    _run: UIRun | undefined,
    end: LoopEvents["run-end"] | undefined,
    failure: { readonly error: unknown } | undefined,
  ): void {
    const last = end === undefined ? toBrokenChunks(this.#options, failure) : toEndingChunks(end, this.#options);
    for (const chunk of last) this.send(chunk);
  }
}
