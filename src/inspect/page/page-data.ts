// Declares the data that a log page contains besides its code. render-run-page.ts writes it, and ui/load-logs.ts reads it.

export interface PageLog {
  readonly name: string;
  /** The id of the element that contains the log. Undefined if `url` is set. */
  readonly element?: string | undefined;
  /**
   * The URL of the log's text, relative to the HTML page. With `?from=N`, the server sends the text after the first N bytes.
   * The server keeps the response open, and sends text that is added later.
   *
   * The `logIdHeader` header contains the log's id, which the page sends back with `&id=`. If a different log has replaced this one, the
   * server answers with 409, and the page reads the new log from the start.
   */
  readonly url?: string | undefined;
}

export interface PageData {
  readonly logs: readonly PageLog[];
  /**
   * The URL of the list of logs, relative to the HTML page. With `?from=N`, the server sends the logs after the first N, one JSON line
   * each. The server keeps the response open, and sends logs that appear later.
   */
  readonly list?: string | undefined;
}

export const logIdHeader = "log-id";

export const pageDataId = "page-data";

/** The placeholder in the HTML template, which the data replaces. */
export const dataMark = "<!-- data -->";

/**
 * The part of the template's Content Security Policy that forbids connections. `renderLivePage` replaces it, so that a live page can
 * connect to its own server.
 */
export const connectNothing = "connect-src 'none'";
