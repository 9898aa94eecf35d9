// Reads a plan during its stream: finds the object in the text, and reports its action as soon as it is known.

import { cutText, isRecord, toPlainError, type UnknownRecord } from "../core/entry-kit.ts";
import { isPlan, planFields, saysResponse } from "./read-decision.ts";

const begin = "<think>";
const end = "</think>";

/** Removes a block with such tags at the beginning of a streamed text. */
export class ThoughtFilter {
  #state: "before" | "inside" | "behind" = "before";
  /** The characters of an incomplete tag. */
  #held = "";

  /** Returns the part of a fragment, and of the text held back before it, that is not reasoning. Leading blanks are dropped. */
  take(piece: string): string {
    if (this.#state === "behind") return piece;
    // Blanks are not held back: with endless blanks, each fragment would take longer than the one before.
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
    this.#state = "behind";
    return this.#held.slice(from);
  }
}

const blank = /\s/;

/** Characters that end a string or begin an escape. */
const special = /["\\]/g;

/** The text before an object that is a plan and not quoted in prose: only blanks, or a fence. */
const opening = /(?:^|```\w*)$/;

/** Longer top-level strings cannot be an action or a field name. */
const longest = 64;

/** How much of the text before an object is kept. */
const longestLead = 32;

/** Finds the first object of a text that is a plan. Reads each character once. */
export class PlanScanner {
  /** The fragments of the open object, without trailing commas. */
  #pieces: string[] = [];
  /** The offset of the next fragment in the current text. */
  #from = 0;
  /** The open brackets, innermost last. */
  #open: ("{" | "[")[] = [];
  #isInString = false;
  #isEscaped = false;
  /** The beginning of the current or last top-level string. */
  #string = "";
  /** True if the next value follows a comma, which is removed at the end of a list. */
  #hasComma = false;
  /** The current top-level field. */
  #key: string | undefined;
  /** A string that may be the action: it is if nothing more follows. */
  #candidate: string | undefined;
  /** The end of the text before the first object, without blanks. */
  #lead = "";
  #objects = 0;
  /** The problem of the last object that was not a plan. */
  /** Described on demand: a model may write any number of broken objects, and redacting a message takes long. */
  #fault: { readonly thrown?: unknown } | undefined;
  /** After the plan: true if a brace was opened, and if it contains something like an object. */
  #hasBrace = false;
  #hasMore = false;
  #action: string | undefined;
  /** The plan, once its object is complete. */
  plan: UnknownRecord | undefined;

  push(text: string): void {
    this.#from = 0;
    for (let at = 0; at < text.length;) {
      if (this.plan !== undefined) at = this.#lookBehind(text, at);
      else if (this.#open.length === 0) at = this.#seek(text, at);
      else if (this.#isInString) at = this.#takeString(text, at);
      else at = this.#take(text, at);
    }
    if (this.#open.length > 0) this.#keep(text, text.length);
  }

  /** True if nothing is to run: `next_action` is "response". Of several, the first counts. */
  get isResponse(): boolean {
    return saysResponse(this.#action);
  }

  /** True if the latest object is the first one, with only blanks or a fence before it. */
  get isLeading(): boolean {
    return this.#objects === 1 && opening.test(this.#lead);
  }

  /** Returns why there is no plan, or more than one. */
  get problem(): string | undefined {
    // One of them may be a quote, and it is unknown which.
    if (this.#hasMore) return "There is more than one plan.";
    if (this.plan !== undefined) return undefined;
    return this.#open.length > 0 ? "The plan was cut off." : wordFault(this.#fault);
  }

  #seek(text: string, from: number): number {
    const at = text.indexOf("{", from);
    const end = at === -1 ? text.length : at;
    if (this.#objects === 0) this.#lead = (this.#lead + text.slice(from, end).trim()).slice(-longestLead);
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

  /** Looks for a second object. It need not be complete to make the first one doubtful. */
  #lookBehind(text: string, from: number): number {
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
      // Two commas are invalid JSON, and are kept.
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

  /** Updates the fields of the object for a top-level character. */
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

  /** Tries to read an object. Braces in prose are not a plan. */
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
  if (fault === undefined) return "There is no JSON object of a plan.";
  if (fault.thrown === undefined) return `There is an object, but none with ${planFields.join(", ")}.`;
  return `The JSON of the plan cannot be read: ${cutText(toPlainError(fault.thrown).message, 200)}.`;
}
