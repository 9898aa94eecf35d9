// What the requests of one pass have used together, and who answered them.

import type { ModelChunk, ModelRequest, Provider } from "../contract/provider.ts";
import type { Usage } from "../contract/usage.ts";
import { assertNever } from "../kit/assert-never.ts";
import { estimateTokens } from "../kit/estimate-tokens.ts";
import { type Answerer, answererOf, AttemptLog } from "../providers/attempt-log.ts";
import { addUsage, noUsage } from "../state/add-usage.ts";

/** A chunk by which tokens are counted, or from which on. */
export type BillChunk = Extract<ModelChunk, { type: "usage" | `attempt-${string}` }>;

/** Sums what is said of one request after another. Tokens of another answerer, or of an attempt that was taken back, are counted apart. */
export class Account {
  /** Of the requests before this one. */
  #before: Usage = noUsage;
  /** Of this one, as far as it has said. */
  #now: Usage | undefined;
  /** An estimate of those that have ended without saying so. */
  #unsaid: Usage = noUsage;
  readonly #told: ModelChunk[] = [];
  readonly #log = new AttemptLog((chunk) => this.#told.push(chunk));
  readonly #answerer: Answerer;
  #hasBegun = false;

  constructor(provider: Provider) {
    this.#answerer = answererOf(provider);
  }

  /** A request begins. One behind another is told as its attempt goes on: so it has the time of a first chunk once more. */
  begin(): readonly ModelChunk[] {
    if (this.#now !== undefined) this.#before = addUsage(this.#before, this.#now);
    this.#now = undefined;
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    if (isFirst) return [];
    if (this.#log.isOpen) this.#log.repeat();
    else this.#log.start(this.#answerer);
    return this.#takeTold();
  }

  /** Takes a chunk that is about bills, and gives what is to be said in its place. */
  take(chunk: BillChunk): readonly ModelChunk[] {
    switch (chunk.type) {
      case "usage":
        return [this.#use(chunk.mode === "delta" ? addUsage(this.#now ?? noUsage, chunk.usage) : chunk.usage)];
      case "attempt-start":
        return this.#tell(() => this.#log.start(chunk));
      case "attempt-discarded":
        return this.#tell(() => {
          if (!this.#log.isOpen) this.#log.start(this.#answerer);
          this.#log.discard(chunk.error);
        });
      default:
        return assertNever(chunk);
    }
  }

  /** A request that is given up before its end says no more of what it has used: that is estimated. */
  close(request: ModelRequest, read: string): ModelChunk {
    return this.#use(estimate(request, read, this.#now));
  }

  /** A request has ended. Beside one that says what it has used, one that does not would pass for free: it is estimated. */
  end(request: ModelRequest, read: string): readonly ModelChunk[] {
    if (this.#now !== undefined) return [];
    if (this.#before.totalTokens > 0) return [this.close(request, read)];
    this.#unsaid = addUsage(this.#unsaid, estimate(request, read));
    return [];
  }

  /** What is new about who answers: from here on tokens are counted anew. */
  #tell(log: () => void): readonly ModelChunk[] {
    log();
    const told = this.#takeTold();
    if (told.length > 0) {
      this.#before = noUsage;
      this.#now = undefined;
      this.#unsaid = noUsage;
    }
    return told;
  }

  #takeTold(): readonly ModelChunk[] {
    return this.#told.splice(0);
  }

  #use(usage: Usage): ModelChunk {
    this.#before = addUsage(this.#before, this.#unsaid);
    this.#unsaid = noUsage;
    this.#now = usage;
    return { type: "usage", usage: addUsage(this.#before, usage), mode: "snapshot" };
  }
}

/** What a request has used: its input, where that was not said, and at least what was read of its output. */
function estimate({ system = "", messages }: ModelRequest, read: string, said = noUsage): Usage {
  const inputTokens = said.inputTokens > 0 ? said.inputTokens : estimateTokens(system + JSON.stringify(messages));
  const outputTokens = Math.max(said.outputTokens, estimateTokens(read));
  return { ...said, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}
