// Keeps a suspended run in a file, so that this or another process can go on with it.

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { Message, SavedJournal, UserMessage } from "turnwright";

/** All that is needed to go on with a run, besides the same provider, tools and options. */
export interface SavedRun {
  readonly runId: string;
  /** Those that the run began with. */
  readonly messages: readonly Message[];
  readonly journal: SavedJournal;
  /** What was said to the run and not sent to the model any more. */
  readonly undelivered: readonly UserMessage[];
}

/** Where at most one suspended run is kept. */
export interface RunFile {
  readonly path: string;
  load(): Promise<SavedRun | undefined>;
  save(run: SavedRun): Promise<void>;
  clear(): Promise<void>;
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** The loop itself checks messages. */
const savedRun = z.object({
  runId: z.string(),
  messages: z.array(z.custom<Message>(isObject)),
  journal: z.object({ steps: z.record(z.string(), z.json()) }),
  undelivered: z.array(z.custom<UserMessage>(isObject)),
});

/** Names the file; it need not be there. `load` rejects where it holds something else. */
export function openRunFile(path: string): RunFile {
  return {
    path,
    async load() {
      const text = await readFile(path, "utf8").catch((error: unknown) => {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
        throw error;
      });
      return text === undefined ? undefined : savedRun.parse(JSON.parse(text));
    },
    async save(run) {
      await mkdir(dirname(path), { recursive: true });
      // A journal holds all that was said and done: nobody else may read it. Renamed, so that no half of it is ever found.
      await writeFile(`${path}.new`, JSON.stringify(run), { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
    clear: () => rm(path, { force: true }),
  };
}
