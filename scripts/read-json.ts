import { readFileSync } from "node:fs";

/** Returns the content of a JSON file. The caller names the type, which is not checked. */
export function readJson<Shape>(path: string): Shape {
  const content: Shape = JSON.parse(readFileSync(path, "utf8"));
  return content;
}
