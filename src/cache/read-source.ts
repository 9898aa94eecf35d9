/** A place with texts that the tool `read_part` can read. `fileSource` and `resourceSource` make sources. */
export interface ReadSource {
  /**
   * The name of the source: 1 to 64 letters, digits, ".", "_" or "-". By convention, the name is also the id of a list of the
   * texts.
   */
  readonly name: string;
  /** Tells the model which texts there are and which ids they have. The description becomes part of the tool's description. */
  readonly description: string;
  /**
   * Opens the text with this id. Returns undefined if the id belongs to another source. The id comes from the model and may be
   * anything. If `open` throws, the model reads the message of the error.
   */
  open(id: string, signal: AbortSignal): SourceText | undefined | PromiseLike<SourceText | undefined>;
}

/** A text of a source: a string, or a large text that is read in ranges. */
export type SourceText = string | RangedText;

/** A large text in UTF-8. Only the ranges that are needed are read. */
export interface RangedText {
  /** The size in bytes. */
  readonly bytes: number;
  /** Must change whenever the text changes. The cache keeps the positions of lines for each version. */
  readonly version: string;
  /** Returns `length` bytes from `offset` on, or fewer at the end of the text. */
  read(offset: number, length: number): PromiseLike<Uint8Array>;
  /** Releases the text. Called once, after the last `read`. */
  close(): void | PromiseLike<void>;
}
