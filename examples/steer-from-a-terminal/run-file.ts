// Keeps a suspended run in a file, so that this process or another one can continue the run.

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { Message, SavedJournal, UserMessage } from "turnwright";

/** The data for continuing a run. The provider, the tools and the options must also be the same as before. */
export interface SavedRun {
  readonly runId: string;
  readonly messages: readonly Message[];
  readonly journal: SavedJournal;
  /** Messages that were sent to the run, and that the model has not read. */
  readonly undelivered: readonly UserMessage[];
}

/** A file that keeps at most one suspended run. */
export interface RunFile {
  readonly path: string;
  load(): Promise<SavedRun | undefined>;
  save(run: SavedRun): Promise<void>;
  clear(): Promise<void>;
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** Accepts any messages, because the loop checks them. */
const savedRun = z.object({
  runId: z.string(),
  messages: z.array(z.custom<Message>(isObject)),
  journal: z.object({ steps: z.record(z.string(), z.json()) }),
  undelivered: z.array(z.custom<UserMessage>(isObject)),
});

/**
 * Returns an object that loads and saves the file. The file does not need to exist. `load` rejects if the file contains
 * something else.
 */
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
      // A journal contains the whole conversation, so other users must not read the file. Because the file is renamed when it
      // is complete, no reader finds a partial file.
      await writeFile(`${path}.new`, JSON.stringify(run), { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
    clear: () => rm(path, { force: true }),
  };
}
