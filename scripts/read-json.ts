// Reads JSON files of the repository.

import { readFileSync } from "node:fs";

/** Returns the content of a JSON file. The caller must know its type. */
export function readJson<Shape>(path: string): Shape {
  const content: Shape = JSON.parse(readFileSync(path, "utf8"));
  return content;
}
