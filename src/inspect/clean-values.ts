// Prepares values for a run log: copies them as plain data, calls `redact`, and removes credentials.

import { isRecord, type Json, namesSecret, redactSecrets, toJson, isThenable, dropPromise } from "../core/entry-kit.ts";

/** The kind of a text in a run log, for `redact`. */
export type RunLogPlace =
  | "system"
  | "tools"
  | "messages"
  | "media"
  | "output"
  | "arguments"
  | "result"
  | "progress"
  | "metadata"
  | "settings"
  | "session"
  | "error"
  | "event";

/** Returns the text to write instead of `text`. */
export type RedactText = (text: string, place: RunLogPlace) => string;

type Copy = { [key: string]: Json };

/** Fields of messages and events that hold ids, names and constants. Their texts are not content, so they are written unchanged. */
const plainFields: ReadonlySet<string> = new Set([
  ...["type", "kind", "role", "name", "toolName", "callId", "providerCallId", "runId", "path", "calls", "id", "question"],
  ...["outcome", "status", "code", "provider", "model", "family", "finish", "decision", "action", "waitsFor", "source"],
  ...["hook", "event", "why", "mediaType", "pendingContext", "disableTools", "problem"],
]);

/** Fields that hold data of the model, the tools or the caller. All texts in them are content, including the keys. */
const contentFields: { readonly [field: string]: RunLogPlace } = {
  args: "arguments",
  approvedArgs: "arguments",
  result: "result",
  metadata: "metadata",
  item: "metadata",
  thoughtLog: "output",
  extra: "settings",
  description: "tools",
  inputSchema: "tools",
};

const failed = "[redaction failed]";
const secret = "[redacted]";

/** The minimum length of texts whose redacted form is kept. A long text usually appears in a result and then in a message. */
const leastKept = 1_000;
const mostKept = 32;
const mostKeys = 1_000;

export class Cleaner {
  readonly #redact: RedactText | undefined;
  readonly #kept = new Map<string, string>();
  readonly #keys = new Map<string, string>();

  constructor(redact: RedactText | undefined) {
    this.#redact = redact;
  }

  /** Copies data in which all texts are content. Returns undefined if there is no value. */
  content(value: unknown, place: RunLogPlace): Json | undefined {
    return copyOf(value, (copy) => this.#content(copy, place));
  }

  /** Copies a message, an event or another object of this library. Ids, names and constants in it are not content. */
  fields(value: unknown, place: RunLogPlace): Json | undefined {
    return copyOf(value, (copy) => this.#fields(copy, { place, inside: "" }));
  }

  text(text: string, place: RunLogPlace): string {
    return this.#withoutSecrets(this.#redacted(text, place));
  }

  /** Objects in a list usually have the same keys, so the keys are kept. */
  #key(key: string, place: RunLogPlace): string {
    const redacted = this.#redacted(key, place);
    const known = this.#keys.get(redacted);
    if (known !== undefined) return known;
    const clean = redactSecrets(redacted);
    if (this.#keys.size < mostKeys) this.#keys.set(redacted, clean);
    return clean;
  }

  #redacted(text: string, place: RunLogPlace): string {
    if (this.#redact === undefined) return text;
    try {
      const redacted: unknown = this.#redact(text, place);
      if (typeof redacted === "string") return redacted;
      if (isThenable(redacted)) dropPromise(redacted);
      return failed;
    } catch {
      return failed;
    }
  }

  #withoutSecrets(text: string): string {
    const known = this.#kept.get(text);
    if (known !== undefined) return known;
    const clean = redactSecrets(text);
    if (text.length < leastKept) return clean;
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= mostKept && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(text, clean);
    return clean;
  }

  #content(value: Json, place: RunLogPlace): Json {
    if (typeof value === "string") return this.text(value, place);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value as Json[];
      items.forEach((item, index) => void (items[index] = this.#content(item, place)));
      return items;
    }
    const fields = Object.entries(value as Copy).map(([key, field]): [string, Json] => [
      this.#key(key, place),
      typeof field === "string" && namesSecret(key) ? secret : this.#content(field, place),
    ]);
    // `fromEntries` defines the keys instead of assigning them, so that "__proto__" is an ordinary key.
    return Object.fromEntries(fields);
  }

  #fields(value: Json, at: Place): Json {
    if (typeof value === "string") return plainFields.has(at.inside) ? value : this.text(value, at.place);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item: Json) => this.#fields(item, at));
    const fields = Object.entries(value as Copy).map(([key, field]): [string, Json] => [key, this.#field(key, field, at)]);
    return Object.fromEntries(fields);
  }

  #field(key: string, field: Json, { place, inside }: Place): Json {
    const content = contentFields[key];
    if (content !== undefined) return this.#content(field, content);
    if (key === "data") return place === "progress" ? this.#content(field, place) : this.#media(field);
    // The reason of an aborted signal is any data, inside the reason of the ending.
    if (key === "reason" && inside === "reason") return this.#content(field, "error");
    return this.#fields(field, { place: key === "error" ? "error" : place, inside: key });
  }

  /** The base64 text of an image has no credentials, but random parts of it may look like one. */
  #media(data: Json): Json {
    if (typeof data !== "string") return this.#content(data, "media");
    return /^(?!data:)[a-z][a-z\d+.-]*:/i.test(data) ? this.text(data, "media") : this.#redacted(data, "media");
  }
}

interface Place {
  readonly place: RunLogPlace;
  /** The name of the field that holds the value. */
  readonly inside: string;
}

function copyOf(value: unknown, clean: (copy: Json) => Json): Json | undefined {
  if (value === undefined) return undefined;
  try {
    return clean(toJson(value, headroom));
  } catch {
    return "[not plain data]";
  }
}

/** The number of levels that messages and events add around arguments and results. */
const headroom = 32;

/** Writes `Infinity`, which JSON cannot represent, as a text. */
export function withInfinity(values: unknown): { readonly [name: string]: Json } | undefined {
  if (!isRecord(values)) return undefined;
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]): [string, Json] => [name, typeof value === "number" || typeof value === "string" ? numberOf(value) : null]),
  );
}

function numberOf(value: number | string): Json {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}
