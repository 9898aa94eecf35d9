// Loads the logs of the page: from elements of the page, or from its own server while runs are writing them.

import type { RunLog } from "../log/run-log.ts";
import { LogReader } from "../log/log-reader.ts";
import { type PageData, pageDataId, type PageLog } from "../page/page-data.ts";

/** A log on the page. `log` is undefined until its first lines are there, and if it cannot be read. */
export interface LoadedLog {
  readonly name: string;
  readonly log?: RunLog | undefined;
  readonly problem?: string | undefined;
  /** True while the page follows the log. */
  readonly isLive: boolean;
}

const textOf = (id: string): string => document.getElementById(id)?.textContent ?? "";

export function readPageData(): PageData {
  return JSON.parse(textOf(pageDataId) || '{"logs":[]}') as PageData;
}

/** Calls `show` with each state of a log: once for a log in the page, and after each piece of a log from the server. */
export async function loadLog({ name, element, url }: PageLog, show: (loaded: LoadedLog) => void): Promise<void> {
  const reader = new LogReader(name);
  try {
    if (element !== undefined) {
      reader.add(textOf(element));
      show({ name, log: reader.end(), isLive: false });
    } else if (url !== undefined)
      await follow(url, (text) => {
        reader.add(text);
        show({ name, log: reader.read(), isLive: true });
      });
  } catch (error) {
    show({ name, problem: error instanceof Error ? error.message : String(error), isLive: false });
  }
}

const retryMs = 1000;

/** Reads the text of a log as long as the page is open. If the connection ends, it continues at the same byte. */
async function follow(url: string, take: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for (let from = 0; ;) {
    try {
      const { body } = await fetch(`${url}?from=${from}`);
      for await (const bytes of body ?? []) {
        from += bytes.length;
        take(decoder.decode(bytes, { stream: true }));
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}
