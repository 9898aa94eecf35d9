// Loads the logs of the page: from elements of the page, or from its own server while runs are writing them.

import type { RunLog } from "../log/run-log.ts";
import { LogReader } from "../log/read-run-log.ts";
import { logIdHeader, type PageData, pageDataId, type PageLog } from "../page/page-data.ts";

/** A log on the page. `log` is undefined until its first lines are there, and if it cannot be read. */
export interface LoadedLog {
  readonly name: string;
  readonly log?: RunLog | undefined;
  readonly problem?: string | undefined;
  /** True while the page follows the log. */
  readonly isLive: boolean;
  /** True while the server of a live log does not answer. */
  readonly isOffline?: boolean | undefined;
}

type ShowLog = (loaded: LoadedLog) => void;

const textOf = (id: string): string => document.getElementById(id)?.textContent ?? "";

export function readPageData(): PageData {
  return JSON.parse(textOf(pageDataId) || '{"logs":[]}') as PageData;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `show` with states of a log: once for a log in the page, and up to four times a second for a log from the server. */
export async function loadLog({ name, element, url }: PageLog, show: ShowLog): Promise<void> {
  let reader = new LogReader();
  try {
    if (element !== undefined) {
      // The page is painted before a long log blocks it.
      await pause(0);
      reader.add(textOf(element));
      show({ name, log: reader.end(), isLive: false });
    } else if (url !== undefined) {
      const showSometimes = limitRate((isOffline: boolean) => {
        const log = reader.read();
        // The server converts a journal once.
        show({ name, log, isLive: log.source === "log", isOffline });
      });
      await follow(url, (text, isFirst) => {
        if (isFirst) reader = new LogReader();
        if (text !== undefined) reader.add(text);
        showSometimes(text === undefined);
      });
    }
  } catch (error) {
    show({ name, problem: error instanceof Error ? error.message : String(error), isLive: false });
  }
}

const showMs = 250;

/** Returns a function that calls `show` with the last value, at most once in `showMs`. */
function limitRate<T>(show: (value: T) => void): (value: T) => void {
  let last = -Infinity;
  let next: T | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (value) => {
    next = value;
    timer ??= setTimeout(
      () => {
        timer = undefined;
        last = performance.now();
        show(next as T);
      },
      Math.max(0, last + showMs - performance.now()),
    );
  };
}

const retryMs = 1000;

/**
 * Reads the text of a log as long as the page is open. If the connection ends, it continues at the same byte. If another log is there
 * then, it starts again. Calls `take` with undefined if the server does not answer.
 */
async function follow(url: string, take: (text: string | undefined, isFirst: boolean) => void): Promise<void> {
  let decoder = new TextDecoder();
  let id: string | undefined;
  for (let from = 0; ;) {
    const answer = await open(`${url}?from=${from}${id === undefined ? "" : `&id=${encodeURIComponent(id)}`}`);
    if (answer === undefined) take(undefined, false);
    else if (answer === "another-log") {
      [from, id, decoder] = [0, undefined, new TextDecoder()];
      continue;
    } else {
      id = answer.id ?? id;
      take("", from === 0);
      for (;;) {
        const bytes = await readNext(answer.body);
        if (bytes === undefined) break;
        from += bytes.length;
        take(decoder.decode(bytes, { stream: true }), false);
      }
    }
    await pause(retryMs);
  }
}

interface Answer {
  readonly body: Reader;
  readonly id: string | undefined;
}

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

async function open(url: string): Promise<Answer | "another-log" | undefined> {
  try {
    const { ok, status, body, headers } = await fetch(url);
    if (status === 409) return "another-log";
    return ok && body !== null ? { body: body.getReader(), id: headers.get(logIdHeader) ?? undefined } : undefined;
  } catch {
    return undefined;
  }
}

async function readNext(reader: Reader): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return (await reader.read()).value;
  } catch {
    return undefined;
  }
}
