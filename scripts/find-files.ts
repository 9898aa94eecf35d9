// Lists the files of the repository that a gate looks at.

import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Every file under `folder` whose path from the root ends in `ending`, sorted, with "/" between its parts. */
export function findFiles(folder: string, ending: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).replaceAll("\\", "/"))
    .filter((path) => path.endsWith(ending))
    .sort();
}
