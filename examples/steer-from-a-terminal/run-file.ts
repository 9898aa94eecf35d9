// Stores a suspended run in a file. The same process or another one can then continue the run.

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { Message, SavedJournal, UserMessage } from "turnwright";

/** The data of a suspended run. The run can only continue with the same provider, tools and options. */
export interface SavedRun {
  readonly runId: string;
  readonly messages: readonly Message[];
  readonly journal: SavedJournal;
  /** Messages that were sent to the run, but that the model has not read. */
  readonly undelivered: readonly UserMessage[];
}

/** A file that stores at most one suspended run. */
export interface RunFile {
  readonly path: string;
  load(): Promise<SavedRun | undefined>;
  save(run: SavedRun): Promise<void>;
  clear(): Promise<void>;
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** Messages are not validated here, because the loop validates them. */
const savedRun = z.object({
  runId: z.string(),
  messages: z.array(z.custom<Message>(isObject)),
  journal: z.object({ steps: z.record(z.string(), z.json()) }),
  undelivered: z.array(z.custom<UserMessage>(isObject)),
});

/** The file does not need to exist. `load` rejects if the content of the file is invalid. */
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
      // The mode 0o600 hides the conversation from other users. The file is written under another name and then renamed, so that no
      // reader sees an incomplete file.
      await writeFile(`${path}.new`, JSON.stringify(run), { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
    clear: () => rm(path, { force: true }),
  };
}
