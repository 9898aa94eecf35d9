// Loads the page's logs: from elements of the page, or from its server while runs are still writing them.

import type { RunLog } from "../../shared/run-log.ts";
import { LogReader } from "../log/read-run-log.ts";
import { logIdHeader, type PageData, pageDataId, type PageLog } from "../page/page-data.ts";

/** A log on the page. `log` is undefined until its first lines have arrived, and stays undefined if it cannot be read. */
export interface LoadedLog {
  readonly name: string;
  readonly log?: RunLog | undefined;
  readonly problem?: string | undefined;
  readonly isLive: boolean;
  /** True while the server of a live log is not answering. */
  readonly isOffline?: boolean | undefined;
}

type ShowLog = (loaded: LoadedLog) => void;

const textOf = (id: string): string => document.getElementById(id)?.textContent ?? "";

export function readPageData(): PageData {
  return JSON.parse(textOf(pageDataId) || '{"logs":[]}') as PageData;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `show` with a log's states: once for a log embedded in the page, and up to four times a second for a log from the server. */
export async function loadLog({ name, element, url }: PageLog, show: ShowLog): Promise<void> {
  let reader = new LogReader();
  try {
    if (element !== undefined) {
      // Lets the browser paint the page first, because parsing a long log blocks it.
      await pause(0);
      reader.add(textOf(element));
      show({ name, log: reader.end(), isLive: false });
    } else if (url !== undefined) {
      const showSometimes = limitRate((isOffline: boolean) => {
        const log = reader.read();
        // A journal is never live, because the server converts it only once.
        show({ name, log, isLive: log.source === "log", isOffline });
      });
      let [decoder, from, id] = [new TextDecoder(), 0, ""];
      const take = (bytes: Bytes | undefined): void => {
        from += bytes?.length ?? 0;
        if (bytes !== undefined) reader.add(decoder.decode(bytes, { stream: true }));
        showSometimes(bytes === undefined);
      };
      await follow(
        () => `${url}?from=${from}${id && `&id=${encodeURIComponent(id)}`}`,
        take,
        (given) => {
          if (given === undefined) [reader, decoder, from] = [new LogReader(), new TextDecoder(), 0];
          id = given ?? "";
        },
      );
    }
  } catch (error) {
    show({ name, problem: error instanceof Error ? error.message : String(error), isLive: false });
  }
}

const showMs = 250;

/** Returns a function that calls `show` with the latest value, at most once every `showMs` milliseconds. */
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

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Reads from the server while the page is open. Each time a connection ends, calls `nextUrl` and requests the returned URL.
 *
 * Calls `take` with each piece, or with undefined if the server does not answer. Calls `begin` with the log's id. If a
 * different log has replaced this log, calls `begin` with undefined, and reads the new log from its start.
 */
async function follow(
  nextUrl: () => string,
  take: (bytes: Bytes | undefined) => void,
  begin: (id: string | undefined) => void = () => {},
): Promise<void> {
  for (;;) {
    const response = await open(nextUrl());
    const isOther = response?.status === 409;
    if (isOther) begin(undefined);
    else if (response?.body) {
      begin(response.headers.get(logIdHeader) ?? "");
      take(new Uint8Array());
      const body = response.body.getReader();
      for (let bytes = await readNext(body); bytes !== undefined; bytes = await readNext(body)) take(bytes);
    } else take(undefined);
    await pause(isOther ? 0 : retryMs);
  }
}

/** Calls `add` for each log that the server finds after the first `count` logs. */
export function followList(url: string, count: number, add: (log: PageLog, index: number) => void): Promise<void> {
  let [index, line, decoder] = [count, "", new TextDecoder()];
  const nextUrl = (): string => {
    [line, decoder] = ["", new TextDecoder()];
    return `${url}?from=${index}`;
  };
  return follow(nextUrl, (bytes) => {
    const lines = (line + decoder.decode(bytes, { stream: true })).split("\n");
    line = lines.pop() ?? "";
    for (const one of lines) add(JSON.parse(one) as PageLog, index++);
  });
}

type Reader = ReadableStreamDefaultReader<Bytes>;

async function open(url: string): Promise<Response | undefined> {
  try {
    const response = await fetch(url);
    return response.ok || response.status === 409 ? response : undefined;
  } catch {
    return undefined;
  }
}

async function readNext(reader: Reader): Promise<Bytes | undefined> {
  try {
    return (await reader.read()).value;
  } catch {
    return undefined;
  }
}
