// Models of text that think aloud begin with their thoughts in tags. A plan that they only think of is none.

const begin = "<think>";
const end = "</think>";

/** Leaves out what stands in such tags at the beginning of a text that comes in pieces. */
export class ThoughtFilter {
  #state: "before" | "inside" | "behind" = "before";
  /** What may be a part of a tag. */
  #held = "";

  /** What of a piece, and of what was held back before it, is no thought. */
  take(piece: string): string {
    if (this.#state === "behind") return piece;
    this.#held += piece;
    if (this.#state === "before") {
      const text = this.#held.trimStart();
      if (text.length < begin.length && begin.startsWith(text)) return "";
      if (!text.startsWith(begin)) return this.#release(0);
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
