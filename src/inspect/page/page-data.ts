// The data that a page contains in addition to its code. render-run-page.ts writes it, and ui/load-logs.ts reads it.

export interface PageLog {
  readonly name: string;
  /** The id of the element that contains the log. Undefined if `url` is set. */
  readonly element?: string | undefined;
  /**
   * The URL of the text, relative to the page. With `?from=` and a number of bytes, the server sends the text after these bytes.
   * The server keeps the response open, and sends text that is added later.
   *
   * The header `logIdHeader` has the id of the log, and the page sends this id back with `&id=`. If another log has replaced the
   * log, the server answers with 409, and the page reads the other log from the start.
   */
  readonly url?: string | undefined;
}

export interface PageData {
  readonly logs: readonly PageLog[];
  /**
   * The URL of the list of logs, relative to the page. With `?from=` and a number of logs, the server sends the logs after this
   * number, one JSON line for each. The server keeps the response open, and sends logs that appear later.
   */
  readonly list?: string | undefined;
}

export const logIdHeader = "log-id";

export const pageDataId = "page-data";

/** This text of the template is replaced by the data. */
export const dataMark = "<!-- data -->";

/**
 * The part of the template's policy that forbids connections. In a live page, `renderLivePage` replaces this part, so that the
 * page can connect to its own server.
 */
export const connectNothing = "connect-src 'none'";
