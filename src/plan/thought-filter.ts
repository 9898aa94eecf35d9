// Models of text that think aloud begin with their thoughts in tags. A plan that they only think of is none.

const begin = "<think>";
const end = "</think>";

/** Leaves out what stands in such tags at the beginning of a text that comes in pieces. */
export class ThoughtFilter {
  #state: "before" | "inside" | "behind" = "before";
  /** What may be a part of a tag. */
  #held = "";

  /** Returns the part of a piece, and of the text held back before it, that is not thought. Blanks before it are dropped. */
  take(piece: string): string {
    if (this.#state === "behind") return piece;
    // A model may repeat blanks for ever: they are not held, or each piece would take longer than the one before.
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
