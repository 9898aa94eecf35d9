// Reads a plan while a model writes it: finds the object in the text around it, says as soon as its action is known, and leaves trailing
// commas out. What was cut off is never made whole: half a command would run.

import { isRecord, type UnknownRecord } from "../kit/is-record.ts";

/** Fields by which an object is known as a plan. */
const planFields = ["next_action", "execution_commands", "tool_commands", "tool_command", "use_tool"] as const;

const blank = /\s/;

/** Longer strings at the top of an object are no action and no name of a field. */
const longest = 64;

/** Finds the first object of a text that is a plan. Each character is looked at once. */
export class PlanScanner {
  /** The object that is open, or was last; without trailing commas. */
  #text = "";
  /** What is open, innermost last. */
  #open: ("{" | "[")[] = [];
  #isInString = false;
  #isEscaped = false;
  /** The beginning of the string that is open, or was last, at the top of the object. */
  #string = "";
  /** A comma that is written once something follows it. */
  #comma = "";
  /** The name of the field at the top whose value is read. */
  #key: string | undefined;
  /** What may be the action: it is, if nothing more follows. */
  #candidate: string | undefined;
  /** `next_action`, as soon as it is known. */
  action: string | undefined;
  /** The plan, once its object is complete. */
  plan: UnknownRecord | undefined;
  /** Whether there is another one behind it. */
  hasMore = false;

  push(text: string): void {
    for (const character of text) {
      if (this.#open.length === 0) this.#seek(character);
      else if (this.#isInString) this.#takeString(character);
      else this.#take(character);
    }
  }

  /** Whether an object was begun and is not complete. */
  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  #seek(character: string): void {
    if (character !== "{") return;
    this.#text = "{";
    this.#open = ["{"];
    this.#comma = "";
    this.#string = "";
    this.#key = undefined;
    this.#candidate = undefined;
  }

  #takeString(character: string): void {
    this.#text += character;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === "\\") this.#isEscaped = true;
    else if (character === '"') {
      this.#isInString = false;
      if (this.#open.length === 1 && this.#key === "next_action") this.#candidate = this.#string;
      return;
    }
    if (this.#open.length === 1 && this.#string.length < longest) this.#string += character;
  }

  #take(character: string): void {
    if (blank.test(character)) {
      this.#text += character;
      return;
    }
    const isClosing = character === "}" || character === "]";
    // A comma before the end of a list stands for nothing; two of them are no JSON.
    if (!isClosing) this.#text += this.#comma;
    this.#comma = character === "," ? "," : "";
    if (this.#open.length === 1) this.#noteField(character);
    if (character === ",") return;
    this.#text += character;
    if (character === '"') this.#isInString = true;
    else if (character === "{" || character === "[") this.#open.push(character);
    else if (isClosing) this.#close(character);
  }

  /** What a character at the top of the object says of its fields. */
  #noteField(character: string): void {
    if (character === ":") this.#key = this.#string;
    else if (character === "," || character === "}") {
      if (this.plan === undefined) this.action = this.#candidate ?? this.action;
      this.#key = undefined;
    } else if (character !== '"' || this.#candidate !== undefined) this.#key = undefined;
    if (character === '"') this.#string = "";
    this.#candidate = undefined;
  }

  #close(character: "}" | "]"): void {
    const opened = this.#open.pop();
    if ((opened === "{") !== (character === "}")) this.#open = [];
    if (this.#open.length > 0) return;
    const plan = toPlan(this.#text);
    this.hasMore ||= this.plan !== undefined && plan !== undefined;
    this.plan ??= plan;
    if (this.plan === undefined) this.action = undefined;
  }
}

/** Braces in prose are no plan. */
function toPlan(text: string): UnknownRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && planFields.some((field) => Object.hasOwn(value, field)) ? value : undefined;
  } catch {
    return undefined;
  }
}
