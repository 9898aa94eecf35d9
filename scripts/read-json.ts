import { readFileSync } from "node:fs";

/** Parses a JSON file. The type argument is not checked. */
export function readJson<Shape>(path: string): Shape {
  const content: Shape = JSON.parse(readFileSync(path, "utf8"));
  return content;
}
