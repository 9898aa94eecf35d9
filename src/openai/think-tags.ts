// Finds reasoning in an answer's text, where a server without a reasoning parser leaves it.

import type { ModelChunk } from "../core/index.ts";

export type ThinkTags = boolean | "opened";

/**
 * Tags that models put around their reasoning. `<think>`: langchain-ai/langchain#33126, vllm-project/vllm#47027. `<thinking>` (Amazon
 * Nova): LibreChat-AI/agents#40. `[THINK]` (Magistral): ggml-org/llama.cpp#16158.
 */
const tags = [
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["[THINK]", "[/THINK]"],
] as const;

/**
 * The maximum length of whitespace to hold back. Without a limit, each new piece of a long run of whitespace would take longer to check.
 */
const maxSpaceLength = 64;

/**
 * Sends an answer's text. Tagged text at the beginning of the answer becomes reasoning, without the tags and the whitespace around
 * them. If an opening tag was assumed and no closing tag arrives, the whole answer is sent as text at the end.
 */
export class AnswerText {
  readonly #out: ModelChunk[];
  #state: "start" | "thinking" | "after" | "text";
  #held = "";
  #closing = "";
  #isAssumed: boolean;
  #assumed = "";
  #hasThought = false;
  /** True if the server sends the reasoning in a separate field. Some gateways then repeat it in the text. */
  #isSeparate = false;

  constructor(out: ModelChunk[], thinkTags: ThinkTags) {
    this.#out = out;
    this.#state = thinkTags === false ? "text" : "start";
    this.#isAssumed = thinkTags === "opened";
  }

  push(text: string): void {
    if (this.#isAssumed) this.#assumed += text;
    this.#take(text);
  }

  /** Sends the held-back text when something other than text follows. */
  flush(): void {
    if (this.#state === "start" && this.#held !== "" && !this.#isAssumed) this.#begin(this.#held);
  }

  /**
   * Called when the server sends reasoning separately. No opening tag is assumed after that, and reasoning in the text counts as a copy.
   */
  noteReasoning(): void {
    this.#isSeparate = true;
    if (this.#state === "start") this.#isAssumed = false;
  }

  end(): void {
    this.flush();
    if (this.#state === "thinking") this.#think(this.#held.trimEnd());
    if (this.#isAssumed) this.#send("text-delta", this.#assumed);
  }

  #take(text: string): void {
    if (this.#state === "text") return this.#send("text-delta", text);
    this.#held += text;
    if (this.#state === "start") this.#findOpening();
    else if (this.#state === "thinking") this.#findClosing();
    else this.#begin(this.#held.trimStart());
  }

  #findOpening(): void {
    const text = this.#held.trimStart();
    const tag = tags.find(([opening]) => text.startsWith(opening));
    if (tag !== undefined) {
      this.#isAssumed = false;
      return this.#enter(tag[1], text.slice(tag[0].length));
    }
    if (this.#held.length < maxSpaceLength && tags.some(([opening]) => opening.startsWith(text))) return;
    if (this.#isAssumed) this.#enter(tags[0][1], this.#held);
    else this.#begin(this.#held);
  }

  #enter(closing: string, text: string): void {
    this.#state = "thinking";
    this.#closing = closing;
    this.#held = "";
    this.#take(text);
  }

  #findClosing(): void {
    const held = this.#held;
    const end = held.indexOf(this.#closing);
    const sent = end === -1 ? held.length - tailOf(held, this.#closing) : end;
    this.#think(end === -1 ? held.slice(0, sent) : held.slice(0, end).trimEnd());
    this.#held = held.slice(sent);
    if (end === -1) return;
    this.#isAssumed = false;
    this.#state = "after";
    this.#held = "";
    this.#take(held.slice(end + this.#closing.length));
  }

  /** Sends the first text of the answer. */
  #begin(text: string): void {
    this.#held = "";
    if (text !== "") this.#state = "text";
    this.#send("text-delta", text);
  }

  #think(text: string): void {
    if (this.#isSeparate) return;
    const thought = this.#hasThought ? text : text.trimStart();
    this.#hasThought ||= thought !== "";
    this.#send("reasoning-delta", thought);
  }

  #send(type: "text-delta" | "reasoning-delta", text: string): void {
    if (text !== "") this.#out.push({ type, text });
  }
}

/** Returns how many characters at the end of `text` to hold back: whitespace, or what may be the beginning of the closing tag. */
function tailOf(text: string, closing: string): number {
  let length = Math.min(text.length, closing.length - 1);
  while (length > 0 && !closing.startsWith(text.slice(text.length - length))) length -= 1;
  const tail = text.length - text.slice(0, text.length - length).trimEnd().length;
  return tail < maxSpaceLength ? tail : length;
}
