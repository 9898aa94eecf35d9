import type { LoopStream, StructuredOutput } from "../../core/index.ts";
import { escapeControls, parseJson } from "../../shared/json.ts";

/**
 * The maximum nesting depth. No partial values are produced for deeper JSON, because the caller's recursive functions could overflow the
 * stack.
 */
const deepest = 200;

/**
 * Reads JSON piece by piece, and can turn the part read so far into valid JSON at any time. Reads each character once. Does not detect
 * syntax errors. If the JSON has a syntax error, the completed text is invalid too.
 */
class JsonPrefix {
  #text = "";
  readonly #closers: string[] = [];
  #token: "string" | "bare" | undefined;
  /** True inside a key, and where a key may begin. */
  #isKey = false;
  /**
   * The state of escapes: `before` and `at` are the positions of the last two escapes in the current string, and `missing` is the number of
   * characters that the last escape still lacks.
   */
  #escape = { before: -1, at: -1, missing: 0 };
  /** The position after the last complete value or opening bracket. */
  #safe = 0;
  #isOver = false;
  #isTooDeep = false;

  get length(): number {
    return this.#text.length;
  }

  push(text: string): void {
    const start = this.#text.length;
    this.#text += text;
    for (let at = 0; at < text.length && !this.#isOver && !this.#isTooDeep; at += 1) this.#read(text.charAt(at), start + at);
  }

  /**
   * Returns the text so far, completed so that it is valid JSON. Returns undefined if the text has no value yet. Omits incomplete keys,
   * numbers and words. If `isEnd` is true, a number or word at the end counts as complete.
   */
  complete(isEnd: boolean): string | undefined {
    if (this.#isTooDeep) return undefined;
    if (this.#token === "string" && !this.#isKey) return `${this.#text.slice(0, this.#endOfString())}"${this.#close()}`;
    if (isEnd && this.#token === "bare") return `${this.#text}${this.#close()}`;
    return this.#safe === 0 ? undefined : `${this.#text.slice(0, this.#safe)}${this.#close()}`;
  }

  #close(): string {
    return this.#closers.toReversed().join("");
  }

  /** Returns where the current string ends, without an incomplete escape or the first half of a surrogate pair. */
  #endOfString(): number {
    const { before, at, missing } = this.#escape;
    const [last, end] = missing > 0 ? [before, at] : [at, this.#text.length];
    if (last >= 0 && end === last + 6 && /^\\u[dD][89abAB]/.test(this.#text.slice(last, end))) return last;
    return /[\uD800-\uDBFF]/.test(this.#text.charAt(end - 1)) ? end - 1 : end;
  }

  #read(char: string, at: number): void {
    if (this.#token === "string") {
      this.#readString(char, at);
      return;
    }
    if (this.#token === "bare") {
      if (!/[\s,:\]}]/.test(char)) return;
      this.#settle(at);
    }
    this.#readStructure(char, at);
  }

  #readString(char: string, at: number): void {
    const { missing } = this.#escape;
    if (missing > 0) this.#escape.missing = missing === 1 && char === "u" && at === this.#escape.at + 1 ? 4 : missing - 1;
    else if (char === "\\") this.#escape = { before: this.#escape.at, at, missing: 1 };
    else if (char === '"') this.#endString(at + 1);
  }

  #endString(end: number): void {
    this.#token = undefined;
    this.#escape = { before: -1, at: -1, missing: 0 };
    if (!this.#isKey) this.#settle(end);
  }

  #readStructure(char: string, at: number): void {
    switch (char) {
      case "{":
      case "[":
        this.#closers.push(char === "{" ? "}" : "]");
        this.#isTooDeep = this.#closers.length > deepest;
        this.#isKey = char === "{";
        this.#settle(at + 1);
        break;
      case "}":
      case "]":
        this.#closers.pop();
        this.#isKey = false;
        this.#settle(at + 1);
        break;
      case ",":
        this.#isKey = this.#closers.at(-1) === "}";
        break;
      case ":":
        this.#isKey = false;
        break;
      default:
        if (/\S/.test(char)) this.#token = char === '"' ? "string" : "bare";
    }
  }

  #settle(end: number): void {
    this.#token = undefined;
    this.#safe = end;
    this.#isOver = this.#closers.length === 0;
  }
}

/** A value whose fields may be missing, and whose strings and arrays may be incomplete. */
export type DeepPartial<Value> = Value extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]?: DeepPartial<Value[Key]> }
    : Value;

/** Reads the partial values of an answer from a run's events. */
export interface PartialOutput<Output = unknown> {
  /**
   * Takes the run's next event. Returns the new partial value of the answer, or undefined if the value has not changed. Each
   * value is a new object.
   */
  take(event: { readonly type: string }): DeepPartial<Output> | undefined;
}

/**
 * Creates a reader that turns a run's events into partial values of its answer. Pass every event, for example from
 * `streamToolLoop`, from a listener, or from the event stream of a web page. Events from nested runs are ignored.
 *
 * A partial value contains all complete parts of the answer so far, and the beginning of the current string. Numbers, `true`,
 * `false` and `null` appear when they are complete. In a long answer, a new value appears each time the text has grown by about
 * 3%, and at the end. Values are not validated, and the schema's defaults and transforms are not applied.
 *
 * The values start over if the model answers again: in each iteration, after an invalid answer, and after an attempt was discarded. No
 * values are produced for an answer that is not JSON, or is nested more than 200 levels deep. A code fence around the answer is ignored.
 *
 * `Output` is the type of the answer. Pass the value from `structuredOutput` to infer it; the argument has no other use.
 *
 * @example
 * const partial = createPartialOutput<Report>();
 * for await (const event of streamToolLoop(options)) {
 *   const report = partial.take(event);
 *   if (report !== undefined) show(report);
 * }
 */
export function createPartialOutput<Output = unknown>(_output?: StructuredOutput<Output>): PartialOutput<Output> {
  const answer = new Answer();
  return {
    take(event) {
      const { type, text, path, continuation, finish } = event as { readonly [field: string]: unknown };
      if (Array.isArray(path) && path.length > 0) return undefined;
      switch (type) {
        case "iteration-start":
          answer.begin(continuation === 0);
          return undefined;
        case "text-delta":
          return (typeof text === "string" ? answer.add(text) : undefined) as DeepPartial<Output> | undefined;
        case "attempt-discarded":
          answer.discard();
          return undefined;
        case "iteration-end":
          return answer.read({ isForced: true, isEnd: finish === "stop" }) as DeepPartial<Output> | undefined;
        default:
          return undefined;
      }
    },
  };
}

/**
 * Yields the partial values of the answer while it streams, as read by `createPartialOutput`. `partialOutputs` reads the events from
 * `stream`, so do not read `stream` yourself. Ends when the run ends. `await stream.result` then returns the result with the validated
 * value. Leaving the `for await` loop early stops the run.
 *
 * @example
 * const stream = streamToolLoop({ provider, messages, middleware: [structuredOutput(report)] });
 * for await (const partial of partialOutputs(stream)) show(partial);
 * const { output } = await stream.result;
 */
export async function* partialOutputs<Output>(stream: LoopStream<Output>): AsyncGenerator<DeepPartial<Output>, void, undefined> {
  const partial = createPartialOutput<Output>();
  for await (const event of stream) {
    const value = partial.take(event);
    if (value !== undefined) yield value;
  }
}

/** The share by which the answer must grow before it is parsed again. Parsing it after each piece would take quadratic time. */
const growth = 1 / 32;

const maxFenceLength = 32;

class Answer {
  /** The text from this iteration's earlier streams, which the current stream continues. */
  #before = "";
  #current = "";
  #head = "";
  #json: JsonPrefix | undefined;
  #isOther = false;
  #parsedLength = 0;
  #last: string | undefined;

  begin(isNew: boolean): void {
    this.#before = isNew ? "" : this.#before + this.#current;
    this.#current = "";
    if (isNew) this.#restart();
  }

  discard(): void {
    this.#current = "";
    this.#restart();
    if (this.#before !== "") this.#push(this.#before);
  }

  add(text: string): unknown {
    this.#current += text;
    this.#push(text);
    return this.read({ isForced: false, isEnd: false });
  }

  /** Returns the value if it has changed. `isEnd` is true if no more text follows. */
  read({ isForced, isEnd }: { readonly isForced: boolean; readonly isEnd: boolean }): unknown {
    const json = this.#json;
    if (json === undefined || this.#isOther) return undefined;
    if (!isForced && json.length < this.#parsedLength * (1 + growth)) return undefined;
    this.#parsedLength = json.length;
    const text = json.complete(isEnd);
    if (text === undefined) return undefined;
    const value = parseJson(text) ?? parseJson(escapeControls(text));
    this.#isOther = value === undefined;
    const written = JSON.stringify(value);
    if (written === this.#last) return undefined;
    this.#last = written;
    return value;
  }

  #restart(): void {
    this.#head = "";
    this.#json = undefined;
    this.#isOther = false;
    this.#parsedLength = 0;
    this.#last = undefined;
  }

  #push(text: string): void {
    if (this.#isOther) return;
    if (this.#json === undefined) this.#startAfterFence(text);
    else this.#json.push(text);
  }

  #startAfterFence(text: string): void {
    this.#head = (this.#head + text).trimStart();
    const isFence = this.#head.startsWith("`");
    const line = this.#head.indexOf("\n");
    if (this.#head === "" || (isFence && line === -1 && this.#head.length < maxFenceLength)) return;
    const [fence = ""] = /^```(?:json)?\s*\n\s*/i.exec(this.#head) ?? [];
    this.#isOther = isFence && fence === "";
    this.#json = new JsonPrefix();
    this.#json.push(this.#head.slice(fence.length));
  }
}
