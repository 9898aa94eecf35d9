// The usage of one iteration's requests together, and the models that answered them.

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

/** Sums what is said of one request after another. Tokens of another answerer, or of an attempt that was taken back, are counted apart. */
export class Account {
  /** Of the requests before this one. */
  #before: Usage = noUsage;
  /** Of this one, as far as it has said. */
  #now: Usage | undefined;
  /** An estimate of those that have ended without saying so. */
  #unsaid: Usage = noUsage;
  /** Whether anything was said in this iteration. */
  #isSaid = false;
  #request: ModelRequest | undefined;
  /** The answer as far as it was read. */
  #read = "";
  /** Whether there were thoughts in this iteration, and whether there were in this request. */
  #hasThoughts = false;
  #thinks = false;
  readonly #told: ModelChunk[] = [];
  readonly #log = new AttemptLog((chunk) => this.#told.push(chunk));
  #answerer: Answerer;
  readonly #spent: AttemptSpending[] = [];

  constructor(provider: Provider) {
    this.#answerer = answererOf(provider);
  }

  /** The usage of the requests, one by one. */
  get spendings(): readonly AttemptSpending[] {
    return this.#now === undefined ? [...this.#spent] : [...this.#spent, this.#toSpending(this.#now)];
  }

  /** A request begins. One behind another is told as its attempt goes on: so it has the time of a first chunk once more. */
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
    return this.#takeTold();
  }

  /** Notes what a chunk says. Gives what is to be said in its place; undefined where it is handed on as it is, as nearly all are. */
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

  /** Thoughts of one request are parted from those of the requests before. */
  #think(chunk: ChunkOf<"reasoning-delta">): readonly ModelChunk[] | undefined {
    if (chunk.text === "" || this.#thinks) return undefined;
    const isFirst = !this.#hasThoughts;
    this.#thinks = true;
    this.#hasThoughts = true;
    return isFirst ? undefined : [{ type: "reasoning-delta", text: "\n\n" }, chunk];
  }

  /** A request is given up before its end, and says no more of what it has used: that is estimated. */
  close(): ModelChunk {
    return this.#use(this.#estimate());
  }

  /** A request has ended. Beside one that says what it has used, one that does not would pass for free: it is estimated. */
  end(): readonly ModelChunk[] {
    if (this.#now !== undefined) return [];
    if (this.#isSaid) return [this.close()];
    this.#unsaid = addUsage(this.#unsaid, this.#estimate());
    return [];
  }

  /** A request has failed. One that had begun to answer, and does not say what that took, is estimated. */
  fail(): readonly ModelChunk[] {
    return this.#now === undefined && this.#read !== "" ? [this.close()] : [];
  }

  /** From another answerer on tokens are counted anew, and at its prices. */
  #start(chunk: ChunkOf<"attempt-start">): readonly ModelChunk[] {
    const { provider, model } = this.#answerer;
    const isAnother = provider !== chunk.provider || model !== chunk.model;
    const last = isAnother ? this.#settle() : [];
    if (isAnother) this.#restart();
    this.#answerer = chunk;
    this.#log.start(chunk);
    return [...last, ...this.#takeTold()];
  }

  #discard({ error }: ChunkOf<"attempt-discarded">): readonly ModelChunk[] {
    const last = this.fail();
    if (!this.#log.isOpen) this.#log.start(this.#answerer);
    this.#log.discard(error);
    this.#restart();
    return [...last, ...this.#takeTold()];
  }

  /** The usage of ended requests that was not reported yet. */
  #settle(): readonly ModelChunk[] {
    return this.#unsaid.totalTokens > 0 ? [this.#use(this.#now ?? noUsage)] : [];
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

  #takeTold(): readonly ModelChunk[] {
    return this.#told.splice(0);
  }

  #use(usage: Usage): ModelChunk {
    if (this.#unsaid.totalTokens > 0) this.#spent.push(this.#toSpending(this.#unsaid));
    this.#before = addUsage(this.#before, this.#unsaid);
    this.#unsaid = noUsage;
    this.#now = usage;
    this.#isSaid = true;
    return { type: "usage", usage: addUsage(this.#before, usage), mode: "snapshot" };
  }

  /** The usage of a request: its input if that was not reported, and at least the output that was read. */
  #estimate(): Usage {
    const said = this.#now ?? noUsage;
    const { system = "", messages = [] } = this.#request ?? {};
    const inputTokens = said.inputTokens > 0 ? said.inputTokens : estimateTokens(system + JSON.stringify(messages, withoutBytes));
    const outputTokens = Math.max(said.outputTokens, estimateTokens(this.#read));
    return { ...said, inputTokens, outputTokens, totalTokens: Math.max(said.totalTokens, inputTokens + outputTokens) };
  }
}

/** The tokens of an image do not follow from its bytes. */
function withoutBytes(key: string, value: unknown): unknown {
  return key === "data" ? undefined : value;
}
