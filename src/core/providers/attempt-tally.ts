// Counts what the attempts of a stream have used, by who made them.

import type { AttemptSpending, ModelChunk } from "../types/provider.ts";
import type { Usage } from "../types/usage.ts";
import { isRecord } from "../utils/is-record.ts";
import { toUsage } from "../utils/read-foreign.ts";
import { addUsage, noUsage } from "../utils/add-usage.ts";
import type { Answerer } from "./attempt-log.ts";

/** Reads the chunks that a stream hands on. What no attempt has said is not in it. */
export class AttemptTally {
  readonly #ended: AttemptSpending[] = [];
  #usage: Usage | undefined;
  #answerer: Answerer | undefined;

  get spendings(): readonly AttemptSpending[] {
    const { provider = "", model = "" } = this.#answerer ?? {};
    return this.#usage === undefined ? [...this.#ended] : [...this.#ended, { provider, model, usage: this.#usage }];
  }

  take(chunk: ModelChunk): void {
    if (chunk.type === "usage" && isRecord(chunk.usage)) {
      const usage = toUsage(chunk.usage);
      this.#usage = chunk.mode === "delta" ? addUsage(this.#usage ?? noUsage, usage) : usage;
    } else if (chunk.type === "attempt-discarded") this.#end();
    else if (chunk.type === "attempt-start") {
      const { provider, model } = this.#answerer ?? chunk;
      if (provider !== chunk.provider || model !== chunk.model) this.#end();
      this.#answerer = chunk;
    }
  }

  #end(): void {
    this.#ended.splice(0, this.#ended.length, ...this.spendings);
    this.#usage = undefined;
  }
}
