/** Scans JSON text that arrives in pieces: finds where strings begin and end, and how deep the brackets nest. Does not check the syntax. */
export class JsonScan {
  /** The number of open objects and arrays. */
  depth = 0;
  isInString = false;
  #isEscaped = false;

  read(character: string): void {
    if (this.isInString) {
      if (character === '"' && !this.#isEscaped) this.isInString = false;
      this.#isEscaped = character === "\\" && !this.#isEscaped;
    } else if (character === '"') this.isInString = true;
    else if (character === "{" || character === "[") this.depth += 1;
    else if (character === "}" || character === "]") this.depth -= 1;
  }
}
