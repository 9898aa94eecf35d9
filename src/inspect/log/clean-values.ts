// Prepares values for a run log: copies them as JSON, calls `redact`, and removes credentials.

import { dropPromise } from "../../shared/promises.ts";
import { isRecord } from "../../core/kit.ts";
import type { Json } from "../../core/index.ts";
import { namesSecret } from "../../shared/redact-fields.ts";
import { redactSecrets } from "../../shared/redact-secrets.ts";
import type { RunLogPlace } from "../../shared/event-table.ts";
import { toJson } from "../../shared/json.ts";
import type { LogFields } from "./log-lines.ts";
import { isList } from "./shared-reader.ts";
import { measure, Measured, type Writable } from "./shared-values.ts";

/** Returns the text to write instead of `text`. */
export type RedactText = (text: string, place: RunLogPlace) => string;

/** Fields of messages and events that contain ids, names and constants. They are not content, so they are not passed to `redact`. */
const plainFields: ReadonlySet<string> = new Set([
  ...["type", "kind", "role", "toolName", "callId", "providerCallId", "runId", "path", "calls", "id", "question"],
  ...["outcome", "status", "code", "provider", "model", "family", "finish", "decision", "action", "waitsFor", "source"],
  ...["hook", "event", "why", "pendingContext", "disableTools", "problem"],
]);

/** Fields of lines that contain names and ids chosen by the program or a provider. */
const namedFields: ReadonlySet<string> = new Set(["provider", "model", "runId", "rawFinish", "callId", "name"]);

/** Fields with data from the model, the tools or the caller. All strings in them are content, including the keys. */
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

/** The pattern of a media type. Any other `mediaType` is treated as content, and may be removed from the log. */
const mediaType = /^(?:application|audio|font|image|model|text|video)\/[\w.+-]{1,80}$/;

/**
 * Field names that `namesSecret` treats as names of secrets, although these fields usually contain a count. Numbers in these fields
 * are written unchanged.
 */
const counts = /^(?:tokens|pass)$/i;

/** Returns the name of the field that contains a secret, if a different field names this secret, as in `{ name: "password", value: "…" }`. */
function hiddenField(record: { readonly [key: string]: Json | undefined }): string | undefined {
  if (!("value" in record)) return undefined;
  const names = [record["name"], record["key"], record["field"], record["header"]];
  return names.some((name) => typeof name === "string" && namesSecret(name)) ? "value" : undefined;
}

const failed = "[redaction failed]";
const secret = "[redacted]";
const notPlain = "[not plain data]";

/** The minimum length of a string whose clean form is remembered. Long strings are usually written twice: in a result and in a message. */
const minKept = 1_000;
const maxKept = 32;
const maxKeys = 1_000;

/**
 * The number of levels that messages and events add around arguments and results. The nesting limit for arguments and results is lower by
 * this number.
 */
const headroom = 32;

function keepLast<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): Value {
  const [oldest] = map.keys();
  if (map.size >= maxKept && oldest !== undefined) map.delete(oldest);
  map.set(key, value);
  return value;
}

export class Cleaner {
  readonly #redact: RedactText | undefined;
  readonly #texts = new Map<string, string>();
  readonly #keys = new Map<string, string>();
  /** The clean forms of arguments and results. Each is written several times: in events and in a message. */
  readonly #values = new Map<object, { readonly place: RunLogPlace; readonly measured: Measured }>();

  constructor(redact: RedactText | undefined) {
    this.#redact = redact;
  }

  /** Copies data in which all strings are content. */
  content(value: unknown, place: RunLogPlace): Measured | undefined {
    if (value === undefined) return undefined;
    // Remembers clean copies only of arguments and results, because the run deep-freezes those, whereas other values may change.
    const isKept = (place === "arguments" || place === "result") && typeof value === "object" && Object.isFrozen(value);
    const known = isKept && value !== null ? this.#values.get(value) : undefined;
    if (known?.place === place) return known.measured;
    const measured = measure(this.#copy(value, place));
    if (isKept && value !== null) keepLast(this.#values, value, { place, measured });
    return measured;
  }

  #copy(value: unknown, place: RunLogPlace): Json {
    try {
      return this.#content(toJson(value, headroom), place);
    } catch {
      return notPlain;
    }
  }

  /**
   * Copies a message, an event or another object from this library. Its ids, names and constants are kept, because they are not content.
   */
  fields(value: unknown, place: RunLogPlace): Writable | undefined {
    try {
      return this.#fields(value, { place, inside: "" });
    } catch {
      return notPlain;
    }
  }

  text(text: string, place: RunLogPlace): string {
    return this.#withoutSecrets(this.#redacted(text, place));
  }

  #key(key: string, place: RunLogPlace): string {
    return this.id(this.#redacted(key, place));
  }

  #redacted(text: string, place: RunLogPlace): string {
    if (this.#redact === undefined) return text;
    try {
      const redacted: unknown = this.#redact(text, place);
      if (typeof redacted === "string") return redacted;
      dropPromise(redacted);
      return failed;
    } catch {
      return failed;
    }
  }

  #withoutSecrets(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const clean = redactSecrets(text);
    return text.length < minKept ? clean : keepLast(this.#texts, text, clean);
  }

  #content(value: Json, place: RunLogPlace): Json {
    if (typeof value === "string") return this.text(value, place);
    if (typeof value !== "object" || value === null) return value;
    if (isList(value)) return this.#items(value, place);
    const hidden = place === "tools" ? undefined : hiddenField(value);
    const fields = Object.entries(value).map(([key, field = null]): [string, Json] => [
      this.#key(key, place),
      key === hidden || namesSecret(key) ? this.#secret(field, { key, place }) : this.#content(field, place),
    ]);
    // `fromEntries` treats "__proto__" as an ordinary key, whereas an assignment would set the prototype.
    return Object.fromEntries(fields);
  }

  /**
   * Copies a list. A list of two values may be a name and its value, as in a list of headers, so the value is hidden if the name suggests a
   * secret.
   */
  #items(items: readonly Json[], place: RunLogPlace): Json {
    const [key, value = null] = items;
    const isPair = items.length === 2 && typeof key === "string" && namesSecret(key);
    if (isPair && place !== "tools") return [this.text(key, place), this.#secret(value, { key, place })];
    return items.map((item) => this.#content(item, place));
  }

  /**
   * Replaces all strings and numbers in a field whose name suggests a secret. In a tool's schema, replaces only a string that is itself the
   * field's value.
   */
  #secret(value: Json, below: { readonly key: string; readonly place: RunLogPlace }): Json {
    const { key, place } = below;
    if (typeof value === "string") return secret;
    if (place === "tools") return this.#content(value, place);
    if (typeof value === "number") return counts.test(key) ? value : secret;
    if (typeof value !== "object" || value === null) return value;
    if (isList(value)) return value.map((item) => this.#secret(item, below));
    const fields = Object.entries(value).map(
      ([name, field = null]) => [this.#key(name, place), this.#secret(field, below)] as const,
    );
    return Object.fromEntries(fields);
  }

  /**
   * Removes credentials from an id, a name or a key, because models and providers choose some ids, names and keys freely.
   * Remembers the results, because objects in a list usually have the same keys.
   */
  id(text: string): string {
    const known = this.#keys.get(text);
    if (known !== undefined) return known;
    const clean = redactSecrets(text);
    if (this.#keys.size < maxKeys) this.#keys.set(text, clean);
    return clean;
  }

  /** Removes credentials from a line's ids and names. For example, a program may pass an API key where a model name belongs. */
  names(fields: LogFields): LogFields {
    const clean = Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === "string" && namedFields.has(name) ? this.id(value) : value,
    ]);
    return Object.fromEntries(clean) as LogFields;
  }

  #fields(value: unknown, at: Place): Writable | undefined {
    if (typeof value === "string") return plainFields.has(at.inside) ? this.id(value) : this.text(value, at.place);
    if (value instanceof Measured || value === null || typeof value === "boolean") return value;
    if (typeof value === "number") return Number.isFinite(value) ? value : null;
    if (Array.isArray(value)) return value.map((item: unknown) => this.#fields(item, at) ?? null);
    if (!isRecord(value)) return undefined;
    if (typeof value["toJSON"] === "function") return this.content(value, at.place);
    const isNamed = at.place === "tools" || typeof value["callId"] === "string";
    const fields = Object.entries(value).map(([key, field]) => {
      const isPlain =
        typeof field === "string" && ((key === "name" && isNamed) || (key === "mediaType" && mediaType.test(field)));
      return [key, isPlain ? this.id(field) : this.#field(key, field, at)] as const;
    });
    return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
  }

  #field(key: string, field: unknown, { place, inside }: Place): Writable | undefined {
    const content = contentFields[key];
    if (content !== undefined) return this.content(field, content);
    if (key === "data") return typeof field === "string" ? this.#media(field) : this.content(field, "media");
    // An end reason may contain an abort signal's reason, which can be any data, so its strings count as content.
    if (key === "reason" && inside === "reason") return this.content(field, "error");
    return this.#fields(field, { place: key === "error" ? "error" : place, inside: key });
  }

  /** Removes credentials only from URLs, because parts of an image's base64 text may look like credentials. */
  #media(data: string): string {
    return /^(?!data:)[a-z][a-z\d+.-]*:/i.test(data) ? this.text(data, "media") : this.#redacted(data, "media");
  }
}

interface Place {
  readonly place: RunLogPlace;
  readonly inside: string;
}
