import { addCost, addUsage } from "../../shared/count-usage.ts";
import type { GuardrailRecord } from "../../core/types/guardrails.ts";
import type { ModelChunk } from "../../core/index.ts";
import type { Asked } from "./ask-check.ts";
import type { CheckedOutput, OutputCheck } from "./checks.ts";

type PartName = CheckedOutput["part"];
type TextChunk = Extract<ModelChunk, { readonly type: "text-delta" | "refusal-delta" | "reasoning-delta" }>;

/** The text or the reasoning in a message. */
interface Part {
  readonly name: PartName;
  readonly checks: readonly OutputCheck[];
  /** The number of characters to hold back, or Infinity to hold everything back until the text is complete. */
  readonly window: number;
  /** The text as the model wrote it. */
  raw: string;
  shown: string;
  /** The length of `raw` at the last check. */
  checkedAt: number;
  isRewritten: boolean;
}

export interface GateOptions {
  readonly checks: readonly OutputCheck[];
  readonly ask: (check: OutputCheck, output: CheckedOutput) => Promise<Asked>;
  /** Called after `records` has changed. */
  readonly onAsked: () => void;
  /** The text that earlier streams of the message sent, if this stream continues the message. */
  readonly before: { readonly [Name in PartName]: string };
}

/** Thrown to end a stream when a check has refused the text or failed. */
export class StoppedStream extends Error {
  readonly asked: Asked;

  constructor(asked: Asked) {
    super(`The guardrail "${asked.guardrail}" has ended the stream.`);
    this.asked = asked;
  }
}

/**
 * Types of chunks that are held until the stream ends. They may contain the original text, so they are dropped from a rewritten message.
 */
const extras: ReadonlySet<ModelChunk["type"]> = new Set(["provider-metadata", "details", "thought-log"]);

/** Holds back a stream's text until the checks have passed. Chunks keep their order. */
export class OutputGate {
  readonly #options: GateOptions;
  #parts: { readonly [Name in PartName]: Part };
  /** The chunks that are held back, in order: text, and all chunks after held text. */
  #held: ModelChunk[] = [];
  #extras: ModelChunk[] = [];
  #hasCalls = false;
  readonly #asked = new Map<string, Asked & { readonly part: PartName }>();

  constructor(options: GateOptions) {
    this.#options = options;
    this.#parts = createParts(options);
  }

  /** One record for each check and part, in the order in which the checks were first called. */
  get records(): readonly GuardrailRecord[] {
    return [...this.#asked.values()].map(({ text: _text, ...record }) => record);
  }

  /** Takes the next chunk, and returns the chunks that may be shown now. Throws `StoppedStream` if a check refuses. */
  async take(chunk: ModelChunk): Promise<readonly ModelChunk[]> {
    if (isText(chunk)) return this.#takeText(chunk);
    if (chunk.type === "usage" || chunk.type === "request-adjusted") return [chunk];
    if (chunk.type === "finish" || chunk.type === "error") return [...(await this.end()), chunk];
    if (chunk.type === "attempt-discarded") return this.#restart(chunk);
    if (!extras.has(chunk.type)) return this.#keepOrder(chunk);
    this.#extras.push(chunk);
    return [];
  }

  #restart(chunk: ModelChunk): readonly ModelChunk[] {
    this.#parts = createParts(this.#options);
    this.#held = [];
    this.#extras = [];
    this.#hasCalls = false;
    return [chunk];
  }

  #keepOrder(chunk: ModelChunk): readonly ModelChunk[] {
    this.#hasCalls ||= chunk.type === "call-ready";
    if (this.#held.length === 0) return [chunk];
    this.#held.push(chunk);
    return [];
  }

  /** Checks all text that is still held back, and returns the held chunks. */
  async end(): Promise<readonly ModelChunk[]> {
    const { text, reasoning } = this.#parts;
    const shown = await this.#finish([reasoning, text]);
    const extra = text.isRewritten || reasoning.isRewritten ? [] : this.#extras;
    this.#extras = [];
    return [...shown, ...extra];
  }

  async #takeText(chunk: TextChunk): Promise<readonly ModelChunk[]> {
    const { text, reasoning } = this.#parts;
    const part = this.#parts[partOf(chunk)];
    // The first text ends the reasoning, so the reasoning is fully checked before any text is held back.
    const isFirst = part === text && !this.#held.some((held) => isTextOf(held, text));
    const before = isFirst ? await this.#finish([reasoning]) : [];
    part.raw += chunk.text;
    if (part.checks.length === 0 && this.#held.length === 0) return [...before, chunk];
    this.#held.push(chunk);
    if (part.raw.length - part.checkedAt < part.window) return before;
    return [...before, ...(await this.#advance(part))];
  }

  /** Shows the text before the last `window` characters, while the model is still writing. */
  async #advance(part: Part): Promise<readonly ModelChunk[]> {
    const text = await this.#check(part, false);
    const end = cutBefore(text, text.length - part.window);
    // Chunks must keep their order, so text stays held after any other held chunk, such as a call.
    if (end <= part.shown.length || this.#held.some((chunk) => !isTextOf(chunk, part))) return [];
    const shown = text.slice(part.shown.length, end);
    part.shown = text.slice(0, end);
    if (part.isRewritten) return [{ type: deltaOf(part), text: shown }];
    return this.#takeHeld(shown.length);
  }

  /**
   * Checks the whole text of the parts, and shows all held chunks. The text of a rewritten part replaces the first held chunk of
   * that part.
   */
  async #finish(parts: readonly Part[]): Promise<readonly ModelChunk[]> {
    const rests = new Map<Part, string>();
    for (const part of parts) {
      if (!this.#held.some((chunk) => isTextOf(chunk, part)) && part.checkedAt === part.raw.length) continue;
      const text = await this.#check(part, true);
      rests.set(part, text.slice(part.shown.length));
      part.shown = text;
    }
    if (rests.size === 0 && parts.length === 1) return [];
    const shown = this.#held.flatMap((chunk): readonly ModelChunk[] => {
      const part = parts.find((one) => one.isRewritten && isTextOf(chunk, one));
      return part === undefined ? [chunk] : takeRest(rests, part);
    });
    this.#held = [];
    return [...shown, ...[...rests.keys()].flatMap((part) => (part.isRewritten ? takeRest(rests, part) : []))];
  }

  /**
   * Removes the first `length` characters of the held text, and returns them as chunks. May be called only while all held chunks are
   * text.
   */
  #takeHeld(length: number): readonly ModelChunk[] {
    const taken: ModelChunk[] = [];
    let left = length;
    while (left > 0) {
      const [first] = this.#held;
      if (first === undefined || !isText(first)) break;
      if (first.text.length <= left) this.#held.shift();
      else this.#held[0] = { ...first, text: first.text.slice(left) };
      taken.push({ ...first, text: first.text.slice(0, left) });
      left -= first.text.length;
    }
    return taken;
  }

  async #check(part: Part, isComplete: boolean): Promise<string> {
    let text = part.raw;
    part.checkedAt = part.raw.length;
    for (const check of part.checks) {
      if (!isComplete && check.window === undefined) continue;
      const output = { text, part: part.name, isComplete, hasCalls: this.#hasCalls };
      const asked = toPass(await this.#options.ask(check, output), text);
      this.#note(part, asked);
      if (asked.verdict === "rewrite") text = asked.text ?? "";
      else if (asked.verdict !== "pass") throw new StoppedStream(asked);
    }
    part.isRewritten ||= text !== part.raw;
    if (text.startsWith(part.shown)) return text;
    throw new StoppedStream(this.#note(part, changedTooLate(part)));
  }

  #note(part: Part, asked: Asked): Asked {
    const key = `${part.name} ${asked.guardrail}`;
    const earlier = this.#asked.get(key);
    const verdict = asked.verdict === "pass" && earlier?.verdict === "rewrite" ? "rewrite" : asked.verdict;
    const spent = sumOf(earlier?.spent, asked.spent);
    const durationMs = (earlier?.durationMs ?? 0) + asked.durationMs;
    this.#asked.set(key, { ...asked, verdict, spent, durationMs, part: part.name });
    this.#options.onAsked();
    return asked;
  }
}

function createParts({ checks, before }: GateOptions): { readonly [Name in PartName]: Part } {
  const create = (name: PartName): Part => {
    const own = checks.filter(({ parts = ["text", "reasoning"] }) => parts.includes(name));
    const window = Math.max(1, ...own.map((check) => check.window ?? Number.POSITIVE_INFINITY));
    const text = before[name];
    return { name, checks: own, window, raw: text, shown: text, checkedAt: text.length, isRewritten: false };
  };
  return { text: create("text"), reasoning: create("reasoning") };
}

function takeRest(rests: Map<Part, string>, part: Part): readonly ModelChunk[] {
  const text = rests.get(part) ?? "";
  rests.set(part, "");
  return text === "" ? [] : [{ type: deltaOf(part), text }];
}

function changedTooLate({ checks }: Part): Asked {
  const name = checks.at(-1)?.name ?? "";
  const error = {
    name: "GuardrailError",
    message: "The check rewrote text that was already shown. Give it a larger `window`.",
  };
  return { guardrail: name, verdict: "failed", error, durationMs: 0 };
}

/** Turns "rewrite" into "pass" if the check returned the text unchanged. */
function toPass(asked: Asked, text: string): Asked {
  return asked.verdict === "rewrite" && asked.text === text ? { ...asked, verdict: "pass" } : asked;
}

function sumOf(first: Asked["spent"], second: Asked["spent"]): Asked["spent"] {
  if (first === undefined || second === undefined) return first ?? second;
  return { usage: addUsage(first.usage, second.usage), costUSD: addCost(first.costUSD, second.costUSD) };
}

function isText(chunk: ModelChunk): chunk is TextChunk {
  return chunk.type === "text-delta" || chunk.type === "refusal-delta" || chunk.type === "reasoning-delta";
}

function partOf({ type }: TextChunk): PartName {
  return type === "reasoning-delta" ? "reasoning" : "text";
}

function isTextOf(chunk: ModelChunk, { name }: Part): boolean {
  return isText(chunk) && partOf(chunk) === name;
}

function deltaOf({ name }: Part): "text-delta" | "reasoning-delta" {
  return name === "text" ? "text-delta" : "reasoning-delta";
}

/** Returns `position`, or `position - 1` if a cut at `position` would split a surrogate pair. */
function cutBefore(text: string, position: number): number {
  const unit = text.charCodeAt(position - 1);
  return unit >= 0xd800 && unit <= 0xdbff ? position - 1 : position;
}
