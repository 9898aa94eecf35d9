import { access, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { invalidOption } from "../core/kit.ts";
import { isFilled } from "../shared/errors/check-fields.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { type BlobStore, isBlobId } from "./with-blobs.ts";
import { syncFolder } from "./journal-session.ts";
import { writeWhole } from "./named-files.ts";

/**
 * Creates a blob store for `withBlobs` that keeps each blob in a file. The folder is created if it does not exist. Several runs and
 * processes may use the same folder. Only the owner of a file can read it.
 *
 * The text is on disk when `put` resolves. After a crash, a file is complete or absent. The methods reject with file system errors. Throws
 * LoopError "invalid-option" if `folder` is not a path.
 *
 * @example
 * const journal = withBlobs(fileJournal("runs/order-7.jsonl"), { store: fileBlobStore("runs/blobs") });
 */
export function fileBlobStore(folder: string): BlobStore {
  if (!isFilled(folder)) throw invalidOption("folder", "the path to a folder", folder);
  const pathOf = (id: string): string => {
    if (!isBlobId(id)) throw invalidOption("id", "a string of 64 hexadecimal digits", id);
    return join(folder, id);
  };
  return {
    async put(id, text) {
      const path = pathOf(id);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (!(await exists(path))) await writeWhole(path, text);
      await syncFolder(folder);
    },
    async get(ids) {
      const texts = new Map<string, string>();
      for (const id of ids) {
        const text = await readFile(pathOf(id), "utf8").catch(unlessMissing);
        if (text !== undefined) texts.set(id, text);
      }
      return texts;
    },
  };
}

async function exists(path: string): Promise<boolean> {
  return (await access(path).then(() => true, unlessMissing)) === true;
}
