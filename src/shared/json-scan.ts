/** Follows JSON text that arrives in pieces: where strings begin and end, and how deep its brackets nest. Checks no syntax. */
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
