// A chat server in this process. Each message starts a run. A reloaded page gets the events of the last run.

import { type LoopEvent, type LoopOptions, type LoopResult, memoryJournal, type SavedJournal, streamToolLoop } from "turnwright";
import { isRequestError, readUIChatRequest, toUIMessageStreamResponse, type UIChatRequest } from "turnwright/ui-message-stream";
import type { UIResponseOptions } from "../../src/ui-message-stream/to-ui-message-stream.ts";

type Decisions = NonNullable<LoopOptions["answers"]>;

interface ServerRun {
  readonly runId: string;
  readonly options: LoopOptions;
  readonly events: LoopEvent[];
  isLive: boolean;
  result: LoopResult | undefined;
  wake: (() => void)[];
}

export interface ChatServerOptions {
  readonly run: Omit<LoopOptions, "messages">;
  readonly stream: UIResponseOptions;
  /** True if a reloaded page gets its events from the journal, as from another process. By default, they come from memory. */
  readonly forgets?: boolean;
}

export class ChatServer {
  readonly #options: ChatServerOptions;
  readonly runs: ServerRun[] = [];
  readonly requests: UIChatRequest[] = [];

  constructor(options: ChatServerOptions) {
    this.#options = options;
  }

  readonly fetch = async (_url: unknown, init: RequestInit = {}): Promise<Response> => {
    if (init.method === "GET") return this.#reload();
    const sent = new Request("http://chat.test/api/chat", {
      method: "POST",
      headers: init.headers ?? {},
      body: init.body ?? null,
    });
    try {
      return await this.#answer(await readUIChatRequest(sent));
    } catch (error) {
      if (isRequestError(error)) return new Response(error.message, { status: error.status });
      return new Response(error instanceof Error ? error.message : "", { status: 409 });
    }
  };

  get last(): ServerRun {
    const run = this.runs.at(-1);
    if (run === undefined) throw new Error("There is no run.");
    return run;
  }

  /** Resumes the last run with decisions from outside the page, as a webhook does. */
  async deliver(decisions: Decisions): Promise<void> {
    await this.#execute(this.last, decisions);
  }

  async #answer(request: UIChatRequest): Promise<Response> {
    this.requests.push(request);
    const { id, message, continues } = request;
    const decisions: Decisions = request.answers;
    if (message === undefined) {
      if (continues !== this.last.runId) throw new Error("The message is not the last one.");
      return this.#show(await this.#execute(this.last, decisions), "live");
    }
    const runId = `${id}/${this.runs.length + 1}`;
    const options = { ...this.#options.run, runId, messages: [message] };
    const run: ServerRun = { runId, options, events: [], isLive: false, result: undefined, wake: [] };
    this.runs.push(run);
    return this.#show(await this.#execute(run, {}), "start");
  }

  async #execute(run: ServerRun, decisions: Decisions): Promise<number> {
    const from = run.events.length;
    const saved = run.result === undefined ? undefined : (JSON.parse(JSON.stringify(run.result.journal)) as SavedJournal);
    const stream = streamToolLoop({ ...run.options, answers: decisions, journal: memoryJournal(saved) });
    const [first] = await Promise.all([stream[Symbol.asyncIterator]().next(), Promise.resolve()]);
    run.isLive = true;
    const note = (event: LoopEvent): void => {
      run.events.push(event);
      for (const wake of run.wake.splice(0)) wake();
    };
    if (first.done !== true) note(first.value);
    const ended = (async () => {
      for await (const event of { [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() }) note(event);
      run.result = await stream.result;
    })();
    ended
      .catch(() => run.events.splice(from))
      .finally(() => {
        run.isLive = false;
        for (const wake of run.wake.splice(0)) wake();
      })
      .catch(() => undefined);
    // Waits for the end of the run, because an invalid decision must become an error response.
    if (Object.keys(decisions).length > 0) await ended;
    return from;
  }

  async #reload(): Promise<Response> {
    const run = this.runs.at(-1);
    if (run === undefined) return new Response(null, { status: 204 });
    if (this.#options.forgets === true && !run.isLive) {
      run.events.splice(0);
      await this.#execute(run, {});
    }
    return this.#show(0, "start");
  }

  #show(from: number, mode: "start" | "live"): Response {
    return toUIMessageStreamResponse(this.#join(this.last, from), { ...this.#options.stream, from: mode, keepAliveMs: Infinity });
  }

  async *#join(run: ServerRun, from: number): AsyncGenerator<LoopEvent, void> {
    for (let index = from; ; index += 1) {
      while (index >= run.events.length) {
        if (!run.isLive) return;
        await new Promise<void>((resolve) => void run.wake.push(resolve));
      }
      const event = run.events[index];
      if (event !== undefined) yield event;
    }
  }
}
