import { invalidOption, isRecord } from "../../core/kit.ts";
import { connectNothing, dataMark, type PageData, pageDataId, type PageLog } from "./page-data.ts";

/** A log for `renderRunPage`. */
export interface RunPageLog {
  /** The log's name on the page. */
  readonly name: string;
  /** The log file's content, or the joined lines that a sink received. */
  readonly text: string;
}

/**
 * Returns an HTML page that shows the runs of one or more logs. The page works without a network: it contains all of its code, and its
 * Content Security Policy prevents it from loading anything. Text from models and tools is never interpreted as HTML. If there are several
 * logs, the page begins with a list of all runs, and can compare two runs.
 *
 * The page contains the complete logs, so give it only to people who may read them.
 *
 * Throws LoopError "invalid-option" if `logs` has the wrong form. A damaged log is reported on the page itself.
 *
 * @example
 * const text = await readFile("run.jsonl", "utf8");
 * await writeFile("run.html", await renderRunPage({ name: "run.jsonl", text }));
 */
export async function renderRunPage(logs: RunPageLog | readonly RunPageLog[]): Promise<string> {
  const list: readonly RunPageLog[] = Array.isArray(logs) ? logs : [logs];
  list.forEach(checkLog);
  const described = list.map(({ name }, index): PageLog => ({ name, element: `log-${index}` }));
  const texts = list.map(({ text }, index) => toData(`log-${index}`, "application/x-ndjson", text));
  return insert({ logs: described }, texts);
}

/**
 * Returns an HTML page that loads its logs from its own server. `list` is the URL from which it learns about new logs, if any can appear.
 */
export async function renderLivePage(logs: readonly PageLog[], list?: string): Promise<string> {
  return (await insert({ logs, ...(list !== undefined && { list }) }, [])).replace(connectNothing, () => "connect-src 'self'");
}

function checkLog(log: unknown, index: number): void {
  const { name, text } = isRecord(log) ? log : {};
  const expected = "a log of the form { name: string, text: string }, or an array of such logs";
  if (typeof name !== "string" || typeof text !== "string") throw invalidOption(`logs[${index}]`, expected, log);
}

async function insert(data: PageData, texts: readonly string[]): Promise<string> {
  const { template } = await import("./template.js");
  const inserted = [...texts, toData(pageDataId, "application/json", JSON.stringify(data))].join("\n");
  return template.replace(dataMark, () => inserted);
}

/**
 * Escapes "<", so that a string cannot close its element. In JSON, "<" occurs only inside strings, where the escape has the same meaning.
 */
function toData(id: string, type: string, text: string): string {
  return `<script type="${type}" id="${id}">${text.replaceAll("<", "\\u003c")}</script>`;
}
