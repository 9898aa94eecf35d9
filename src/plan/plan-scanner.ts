// Reads a plan while a model writes it: finds the object in the text around it, says as soon as its action is known, and leaves trailing
// commas out. What was cut off is never made whole: half a command would run.

import { isRecord, type UnknownRecord } from "../kit/is-record.ts";

/** Fields by which an object is known as a plan. */
const planFields = ["next_action", "execution_commands", "tool_commands", "tool_command", "use_tool"] as const;

const blank = /\s/;

/** Finds the first object of a text that is a plan. Each character is looked at once. */
export class PlanScanner {
  /** The object that is open, or was last; without trailing commas. */
  #text = "";
  /** What is open, innermost last. */
  #open: ("{" | "[")[] = [];
  /** Of the string that is open: where its content begins. */
  #stringFrom: number | undefined;
  #isEscaped = false;
  /** A comma that is written once something follows it. */
  #comma = "";
  /** The last string at the top of the object, and whether a colon came behind it. */
  #key: string | undefined;
  #isValue = false;
  /** `next_action`, as soon as it is known. */
  action: string | undefined;
  /** The plan, once its object is complete. */
  plan: UnknownRecord | undefined;

  push(text: string): void {
    for (const character of text) {
      if (this.plan !== undefined) return;
      if (this.#open.length === 0) this.#seek(character);
      else if (this.#stringFrom !== undefined) this.#takeString(character);
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
    this.#key = undefined;
    this.#isValue = false;
    this.action = undefined;
  }

  #takeString(character: string): void {
    this.#text += character;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === "\\") this.#isEscaped = true;
    else if (character === '"') this.#endString(this.#text.slice(this.#stringFrom, -1));
  }

  #endString(raw: string): void {
    this.#stringFrom = undefined;
    if (this.#open.length > 1) return;
    if (!this.#isValue) this.#key = raw;
    else if (this.#key === "next_action") this.action = raw;
  }

  #take(character: string): void {
    if (character === ",") {
      this.#comma = character;
      this.#isValue = false;
      return;
    }
    const isClosing = character === "}" || character === "]";
    // A comma before the end of a list stands for nothing.
    if (!isClosing && !blank.test(character)) this.#text += this.#comma;
    if (!blank.test(character)) this.#comma = "";
    this.#text += character;
    if (character === '"') this.#stringFrom = this.#text.length;
    else if (character === ":" && this.#open.length === 1) this.#isValue = true;
    else if (character === "{" || character === "[") this.#open.push(character);
    else if (isClosing) this.#close(character);
  }

  #close(character: "}" | "]"): void {
    const opened = this.#open.pop();
    if ((opened === "{") !== (character === "}")) this.#open = [];
    if (this.#open.length === 0) this.plan = toPlan(this.#text);
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
