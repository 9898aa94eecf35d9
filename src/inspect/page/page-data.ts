// The data that a page carries beside its code. The page reads it again: see ui/load-logs.ts.

/** Describes one log of a page. */
export interface PageLog {
  /** The name of the log on the page, such as its file name. */
  readonly name: string;
  /** The id of the element that has the text of the log. Undefined if `url` is set. */
  readonly element?: string | undefined;
  /**
   * The URL of the text, relative to the page. With `?from=` and a number of bytes, the server sends the text from there on. It
   * keeps the response open, and sends the text that is added later. The header `logIdHeader` names the log. The page sends it back
   * with `&id=`, and the server answers with 409 if another log is there now, so that the page starts again.
   */
  readonly url?: string | undefined;
}

export interface PageData {
  readonly logs: readonly PageLog[];
  /**
   * The URL of the list of logs, relative to the page. With `?from=` and a number of logs, the server sends the logs from there on,
   * one JSON line for each. It keeps the response open, and sends the logs that are found later.
   */
  readonly list?: string | undefined;
}

/** The header with the id of a log. */
export const logIdHeader = "log-id";

/** The id of the element that has the page data as JSON. */
export const pageDataId = "page-data";

/** The place in the template at which the data is inserted. */
export const dataMark = "<!-- data -->";

/** The policy of the template, to which live pages add their own server. */
export const connectNothing = "connect-src 'none'";
