// How content gets on spans: not at all, unless it is asked for; and else as `redact` leaves it, without credentials.

import { dropPromise, type Json, redactSecrets } from "../core/provider-kit.ts";
import type { ContentKind, TracingOptions } from "./tracing-options.ts";

/** Writes content. Whatever fails is left out: the run must not notice. */
export class ContentWriter {
  /** Whether any is written. */
  readonly isOn: boolean;
  readonly #redact: TracingOptions["redact"];

  constructor({ captureContent = false, redact }: TracingOptions) {
    this.isOn = captureContent;
    this.#redact = redact;
  }

  /** What may be written of it; undefined for nothing. */
  keep(kind: ContentKind, content: () => Json): Json | undefined {
    if (!this.isOn) return undefined;
    try {
      // A copy, because `redact` may change what it is given, and that is what the run goes on with.
      const kept = this.#redact === undefined ? content() : this.#redact(structuredClone(content()), kind);
      dropPromise(kept);
      return kept;
    } catch {
      return undefined;
    }
  }

  /** The text of an attribute for what is kept. */
  write(kept: Json | undefined): string | undefined {
    try {
      return kept === undefined ? undefined : JSON.stringify(kept, cleanText);
    } catch {
      return undefined;
    }
  }

  /** The description of a status for what is kept of an error. */
  describe(kept: Json | undefined): string | undefined {
    return typeof kept === "string" ? redactSecrets(kept) : undefined;
  }
}

/** Text by text, because what takes the place of a secret must not break the JSON around it. */
function cleanText(_key: string, value: unknown): unknown {
  return typeof value === "string" ? redactSecrets(value) : value;
}
