// Reads a JSON file of the repository.

import { readFileSync } from "node:fs";

/** The content of a file whose shape the caller knows. */
export function readJson<Shape>(path: string): Shape {
  const content: Shape = JSON.parse(readFileSync(path, "utf8"));
  return content;
}
