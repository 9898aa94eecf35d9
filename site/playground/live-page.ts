// Shows the page of turnwright/inspect in a frame. The page asks a server for the log, and this module answers it.

import { logIdHeader } from "../../src/inspect/page/page-data.ts";

export interface LiveLog {
  write(line: string): void;
}

/** Opens the page for a new log. run.html calls `openLog` instead of `fetch`. */
export function showLive(frame: HTMLIFrameElement): LiveLog {
  const readers = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const encoder = new TextEncoder();
  const lines: string[] = [];
  const openLog = (url: string): Response => {
    const from = Number(new URL(url, location.href).searchParams.get("from"));
    let reader: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        reader = controller;
        readers.add(reader);
        reader.enqueue(encoder.encode(lines.join("")).slice(from));
      },
      cancel: () => void readers.delete(reader),
    });
    return new Response(body, { headers: { [logIdHeader]: "run" } });
  };
  Object.assign(globalThis, { openLog });
  frame.src = "./run.html";
  return {
    write(line) {
      lines.push(line);
      for (const reader of readers) reader.enqueue(encoder.encode(line));
    },
  };
}
