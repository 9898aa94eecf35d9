import {
  addUsage,
  type Answerer,
  answererOf,
  AttemptLog,
  type AttemptSpending,
  estimateTokens,
  type ModelChunk,
  type ModelRequest,
  noUsage,
  type Provider,
  toUsage,
  type Usage,
} from "../core/entry-kit.ts";

type ChunkOf<Type extends ModelChunk["type"]> = Extract<ModelChunk, { type: Type }>;

/** Adds up the usage of all model requests in one iteration. A new count begins for another model, or after a discarded attempt. */
export class Account {
  #before: Usage = noUsage;
  #now: Usage | undefined;
  /** The estimated usage of requests that reported no usage. Zero after the estimate has been sent. */
  #unreported: Usage = noUsage;
  #hasReport = false;
  #request: ModelRequest | undefined;
  #read = "";
  #hasThoughts = false;
  #thinks = false;
  readonly #logged: ModelChunk[] = [];
  readonly #log = new AttemptLog((chunk) => this.#logged.push(chunk));
  #answerer: Answerer;
  readonly #spent: AttemptSpending[] = [];

  constructor(provider: Provider) {
    this.#answerer = answererOf(provider);
  }

  get spendings(): readonly AttemptSpending[] {
    return this.#now === undefined ? [...this.#spent] : [...this.#spent, this.#toSpending(this.#now)];
  }

  /** From the second request on, restarts the attempt, so that each request gets the full time limit for its first chunk. */
  begin(request: ModelRequest): readonly ModelChunk[] {
    if (this.#now !== undefined) this.#before = addUsage(this.#before, this.#now);
    this.#endRequest();
    this.#read = "";
    this.#thinks = false;
    const isFirst = this.#request === undefined;
    this.#request = request;
    if (isFirst) return [];
    if (this.#log.isOpen) this.#log.repeat();
    else this.#log.start(this.#answerer);
    return this.#takeLogged();
  }

  /** Returns the chunks to send instead of `chunk`, or undefined to send `chunk` unchanged. */
  note(chunk: ModelChunk): readonly ModelChunk[] | undefined {
    const { type } = chunk;
    if (type === "attempt-start") return this.#start(chunk);
    if (type === "attempt-discarded") return this.#discard(chunk);
    if (type === "usage") {
      const usage = toUsage(chunk.usage);
      return [this.#use(chunk.mode === "delta" ? addUsage(this.#now ?? noUsage, usage) : usage)];
    }
    if (type === "text-delta" || type === "refusal-delta" || type === "reasoning-delta") this.#read += chunk.text;
    return type === "reasoning-delta" ? this.#think(chunk) : undefined;
  }

  /** Puts a blank line between the reasoning of two requests. */
  #think(chunk: ChunkOf<"reasoning-delta">): readonly ModelChunk[] | undefined {
    if (chunk.text === "" || this.#thinks) return undefined;
    const isFirst = !this.#hasThoughts;
    this.#thinks = true;
    this.#hasThoughts = true;
    return isFirst ? undefined : [{ type: "reasoning-delta", text: "\n\n" }, chunk];
  }

  /** Estimates the usage of a request that is closed early, because the service reports no more usage for a closed request. */
  close(): ModelChunk {
    return this.#use(this.#estimate());
  }

  /**
   * Estimates the usage of a finished request that reported no usage. The estimate is sent only if another request reports usage,
   * because the finished request would otherwise seem to cost nothing.
   */
  end(): readonly ModelChunk[] {
    if (this.#now !== undefined) return [];
    if (this.#hasReport) return [this.close()];
    this.#unreported = addUsage(this.#unreported, this.#estimate());
    return [];
  }

  fail(): readonly ModelChunk[] {
    return this.#now === undefined && this.#read !== "" ? [this.close()] : [];
  }

  /** Begins a new count if the provider or model changes, because prices differ. */
  #start(chunk: ChunkOf<"attempt-start">): readonly ModelChunk[] {
    const { provider, model } = this.#answerer;
    const isAnother = provider !== chunk.provider || model !== chunk.model;
    const last = isAnother ? this.#settle() : [];
    if (isAnother) this.#restart();
    this.#answerer = chunk;
    this.#log.start(chunk);
    return [...last, ...this.#takeLogged()];
  }

  #discard({ error }: ChunkOf<"attempt-discarded">): readonly ModelChunk[] {
    const last = this.fail();
    if (!this.#log.isOpen) this.#log.start(this.#answerer);
    this.#log.discard(error);
    this.#restart();
    return [...last, ...this.#takeLogged()];
  }

  #settle(): readonly ModelChunk[] {
    return this.#unreported.totalTokens > 0 ? [this.#use(this.#now ?? noUsage)] : [];
  }

  #restart(): void {
    this.#before = noUsage;
    this.#endRequest();
    this.#read = "";
  }

  #endRequest(): void {
    if (this.#now !== undefined) this.#spent.push(this.#toSpending(this.#now));
    this.#now = undefined;
  }

  #toSpending(usage: Usage): AttemptSpending {
    const { provider, model } = this.#answerer;
    return { provider, model, usage };
  }

  #takeLogged(): readonly ModelChunk[] {
    return this.#logged.splice(0);
  }

  #use(usage: Usage): ModelChunk {
    if (this.#unreported.totalTokens > 0) this.#spent.push(this.#toSpending(this.#unreported));
    this.#before = addUsage(this.#before, this.#unreported);
    this.#unreported = noUsage;
    this.#now = usage;
    this.#hasReport = true;
    return { type: "usage", usage: addUsage(this.#before, usage), mode: "snapshot" };
  }

  /** Reported input tokens are kept. The output tokens are at least the estimate for the received text. */
  #estimate(): Usage {
    const said = this.#now ?? noUsage;
    const { system = "", messages = [] } = this.#request ?? {};
    const inputTokens = said.inputTokens > 0 ? said.inputTokens : estimateTokens(system + JSON.stringify(messages, withoutBytes));
    const outputTokens = Math.max(said.outputTokens, estimateTokens(this.#read));
    return { ...said, inputTokens, outputTokens, totalTokens: Math.max(said.totalTokens, inputTokens + outputTokens) };
  }
}

/** Omits the data of images, because the tokens of an image do not depend on its bytes. */
function withoutBytes(key: string, value: unknown): unknown {
  return key === "data" ? undefined : value;
}
