// Writes plain data as indented JSON, up to a length. A log of a few KB can have results of which each is 16 MB as JSON.

/** The number of characters up to which the length of JSON is counted. */
export const mostCounted = 100_000;

interface Written {
  readonly text: string;
  /** False if the text is longer than the limit. It then ends anywhere after the limit. */
  readonly isWhole: boolean;
}

/** Returns the same text as `JSON.stringify` with an indentation of 2, but stops after about `most` characters. */
export function writeJson(value: unknown, most: number): Written {
  const writer = new JsonWriter(most);
  writer.write(value, "\n");
  return { text: writer.pieces.join(""), isWhole: !writer.isFull };
}

class JsonWriter {
  readonly pieces: string[] = [];
  readonly #most: number;
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.#length > this.#most;
  }

  /** `line` is a line break with the indentation of the value. */
  write(value: unknown, line: string): void {
    if (Array.isArray(value))
      return this.#writeAll(
        value.map((item: unknown) => ["", item] as const),
        { line, marks: "[]" },
      );
    if (typeof value !== "object" || value === null) return this.#add(this.#scalar(value));
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    this.#writeAll(
      fields.map(([key, field]: [string, unknown]) => [`${this.#scalar(key)}: `, field] as const),
      { line, marks: "{}" },
    );
  }

  #writeAll(
    items: readonly (readonly [lead: string, value: unknown])[],
    { line, marks }: { readonly line: string; readonly marks: string },
  ): void {
    if (items.length === 0) return this.#add(marks);
    const inner = `${line}  `;
    for (const [index, [lead, value]] of items.entries()) {
      if (this.isFull) return;
      this.#add(`${index === 0 ? marks.charAt(0) : ","}${inner}${lead}`);
      this.write(value, inner);
    }
    this.#add(`${line}${marks.charAt(1)}`);
  }

  #scalar(value: unknown): string {
    return JSON.stringify(typeof value === "string" ? value.slice(0, this.#most + 1) : (value ?? null));
  }

  #add(piece: string): void {
    this.pieces.push(piece);
    this.#length += piece.length;
  }
}
