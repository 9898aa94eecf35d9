import { countBytes } from "../core/entry-kit.ts";

/** The maximum size of a returned text in bytes. Small enough that the cache does not store the returned text again. */
const mostBytes = 6_000;

/** The lines of a returned text, whose size is limited. */
export class Answer {
  readonly #lines: string[] = [];
  #bytes = 0;

  get count(): number {
    return this.#lines.length;
  }

  /**
   * Returns false if the line does not fit into the returned text. The first line always fits, because the length of a line is
   * limited.
   */
  add(line: string): boolean {
    const bytes = countBytes(line) + 1;
    if (this.#bytes + bytes > mostBytes) return false;
    this.#lines.push(line);
    this.#bytes += bytes;
    return true;
  }

  under(heading: string): string {
    return [heading, ...this.#lines].join("\n");
  }
}
