import { readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns the files in a folder and its subfolders whose paths end with `ending`. The paths are relative to the repository,
 * sorted, and use "/" as separator.
 */
export function findFiles(folder: string, ending: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).replaceAll("\\", "/"))
    .filter((path) => path.endsWith(ending))
    .sort();
}
