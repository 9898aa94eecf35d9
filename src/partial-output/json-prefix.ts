/** Deeper JSON has no partial values, because a recursive function of the caller could overflow the stack. */
const deepest = 200;

/**
 * Reads JSON piece by piece, and completes it to valid JSON at any time. Reads each character once. Does not detect syntax
 * errors. If the JSON has a syntax error, the completed text is invalid too.
 */
export class JsonPrefix {
  #text = "";
  readonly #closers: string[] = [];
  #token: "string" | "bare" | undefined;
  /** True inside of a key, and at a place where a key may begin. */
  #isKey = false;
  /**
   * `before` and `at` are the positions of the last two escapes in the current string. `missing` is the number of characters that
   * the escape at `at` still lacks.
   */
  #escape = { before: -1, at: -1, missing: 0 };
  /** The end of the last complete value or opening bracket. */
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
   * Returns the text so far, completed to JSON, or undefined if it has no value yet. Leaves out incomplete keys, numbers and
   * words. If `isEnd` is true, a number or word at the end counts as complete.
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

  /** Returns the end of the current string, without an incomplete escape and without the first half of a surrogate pair. */
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
