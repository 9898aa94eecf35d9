import { cutText } from "../../shared/texts.ts";
import { isRecord } from "../../core/kit.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import type { UnknownRecord } from "../../shared/guards.ts";
import { isPlan, planFields, saysResponse } from "./read-decision.ts";

const begin = "<think>";
const end = "</think>";

/** Drops a `<think>` block at the beginning of the text. */
export class ThoughtFilter {
  #state: "before" | "inside" | "after" = "before";
  #held = "";

  /** Returns the part of the text that is certainly not reasoning. Drops leading whitespace. */
  take(piece: string): string {
    if (this.#state === "after") return piece;
    // Drops leading whitespace immediately, because processing endless whitespace would otherwise become slower with each fragment.
    this.#held += this.#held === "" ? piece.trimStart() : piece;
    if (this.#state === "before") {
      if (this.#held.length < begin.length && begin.startsWith(this.#held)) return "";
      if (!this.#held.startsWith(begin)) return this.#release(0);
      this.#state = "inside";
    }
    const at = this.#held.indexOf(end);
    if (at !== -1) return this.#release(at + end.length);
    this.#held = this.#held.slice(-end.length);
    return "";
  }

  #release(from: number): string {
    this.#state = "after";
    return this.#held.slice(from);
  }
}

const blank = /\s/;

const special = /["\\]/g;

/**
 * Matches the text before a JSON object if it is empty or ends with the start of a code fence. After any other text, the object may be a
 * quotation.
 */
const opening = /(?:^|```\w*)$/;

const longest = 64;

const maxLeadLength = 32;

/** Finds the first JSON object that is a plan, while the text streams. Reads each character once. */
export class PlanScanner {
  /** The JSON text of the current object, in pieces and without trailing commas. */
  #pieces: string[] = [];
  /** The position in the current text where the next piece begins. */
  #from = 0;
  #open: ("{" | "[")[] = [];
  #isInString = false;
  #isEscaped = false;
  #string = "";
  #hasComma = false;
  #key: string | undefined;
  /** The string value of `next_action`. It becomes the plan's action only if a comma or brace follows. */
  #candidate: string | undefined;
  #lead = "";
  #objects = 0;
  /**
   * The problem with the newest object that was not a plan. Its message is written only when needed, because removing credentials is slow.
   */
  #fault: { readonly thrown?: unknown } | undefined;
  #hasBrace = false;
  #hasMore = false;
  #action: string | undefined;
  plan: UnknownRecord | undefined;

  push(text: string): void {
    this.#from = 0;
    for (let at = 0; at < text.length;) {
      if (this.plan !== undefined) at = this.#seekMore(text, at);
      else if (this.#open.length === 0) at = this.#seek(text, at);
      else if (this.#isInString) at = this.#takeString(text, at);
      else at = this.#take(text, at);
    }
    if (this.#open.length > 0) this.#keep(text, text.length);
  }

  /** True if `next_action` is "response". If the field is repeated, its first value is used. */
  get isResponse(): boolean {
    return saysResponse(this.#action);
  }

  /** True if there is only one object so far, and only whitespace or the start of a code fence comes before it. */
  get isLeading(): boolean {
    return this.#objects === 1 && opening.test(this.#lead);
  }

  get problem(): string | undefined {
    // Rejects two objects, because one may be a quotation, and there is no way to tell which.
    if (this.#hasMore) return "The answer contains more than one JSON object.";
    if (this.plan !== undefined) return undefined;
    return this.#open.length > 0 ? "The plan was cut off." : wordFault(this.#fault);
  }

  #seek(text: string, from: number): number {
    const at = text.indexOf("{", from);
    const end = at === -1 ? text.length : at;
    if (this.#objects === 0) this.#lead = (this.#lead + text.slice(from, end).trim()).slice(-maxLeadLength);
    if (at === -1) return end;
    this.#objects += 1;
    this.#pieces = [];
    this.#from = at;
    this.#open = ["{"];
    this.#hasComma = false;
    this.#string = "";
    this.#key = undefined;
    this.#candidate = undefined;
    return at + 1;
  }

  /** Looks for the beginning of a second object, which would make the plan ambiguous. */
  #seekMore(text: string, from: number): number {
    if (this.#hasMore) return text.length;
    if (!this.#hasBrace) {
      const at = text.indexOf("{", from);
      this.#hasBrace = at !== -1;
      return at === -1 ? text.length : at + 1;
    }
    const character = text.charAt(from);
    if (!blank.test(character)) {
      this.#hasMore = character === '"' || character === "'";
      this.#hasBrace = character === "{";
    }
    return from + 1;
  }

  #takeString(text: string, from: number): number {
    special.lastIndex = from;
    const found = this.#isEscaped ? from : (special.exec(text)?.index ?? text.length);
    const isEnd = !this.#isEscaped && text.charAt(found) === '"';
    const next = Math.min(found + 1, text.length);
    if (this.#open.length === 1) this.#string += text.slice(from, isEnd ? found : next).slice(0, longest);
    this.#isEscaped = !this.#isEscaped && text.charAt(found) === "\\";
    if (isEnd) this.#endString();
    return next;
  }

  #endString(): void {
    this.#isInString = false;
    const isAction = this.#open.length === 1 && this.#key === "next_action" && this.#string.length < longest;
    if (isAction) this.#candidate = this.#string;
  }

  #take(text: string, at: number): number {
    const character = text.charAt(at);
    if (blank.test(character)) return at + 1;
    const isClosing = character === "}" || character === "]";
    if (this.#hasComma && !isClosing) {
      this.#keep(text, at);
      // Drops only a comma before a closing bracket. Two commas in a row stay and make the JSON invalid.
      this.#pieces.push(",");
    }
    this.#hasComma = character === ",";
    if (this.#open.length === 1) this.#noteField(character);
    if (character === ",") {
      this.#keep(text, at);
      this.#from = at + 1;
    } else if (character === '"') this.#isInString = true;
    else if (character === "{" || character === "[") this.#open.push(character);
    else if (isClosing) this.#close(character, text, at + 1);
    return at + 1;
  }

  #keep(text: string, end: number): void {
    if (end > this.#from) this.#pieces.push(text.slice(this.#from, end));
    this.#from = end;
  }

  #noteField(character: string): void {
    if (character === ":") this.#key = this.#string;
    else if (character === "," || character === "}") {
      this.#action ??= this.#candidate;
      this.#key = undefined;
    } else if (character !== '"' || this.#candidate !== undefined) this.#key = undefined;
    if (character === '"') this.#string = "";
    this.#candidate = undefined;
  }

  #close(character: "}" | "]", text: string, end: number): void {
    const opened = this.#open.pop();
    if ((opened === "{") !== (character === "}")) this.#open = [];
    if (this.#open.length > 0) return;
    this.#keep(text, end);
    this.#read(this.#pieces.join(""));
    this.#pieces = [];
    if (this.plan === undefined) this.#action = undefined;
  }

  /** Reads an object. An object without plan fields is treated as prose in braces, not as a faulty plan. */
  #read(text: string): void {
    try {
      const value: unknown = JSON.parse(text);
      if (isRecord(value) && isPlan(value)) this.plan = value;
      else this.#fault = {};
    } catch (thrown) {
      const isMeant = planFields.some((field) => text.includes(field));
      if (isMeant) this.#fault = { thrown };
    }
  }
}

function wordFault(fault: { readonly thrown?: unknown } | undefined): string {
  if (fault === undefined) return "The answer contains no JSON object with a plan.";
  if (fault.thrown === undefined) return `The JSON object must have at least one of these fields: ${planFields.join(", ")}.`;
  return `The JSON of the plan is invalid: ${cutText(toPlainError(fault.thrown).message, 200)}.`;
}
