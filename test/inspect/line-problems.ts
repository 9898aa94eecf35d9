import { readFileSync } from "node:fs";
import type { JsonSchema } from "turnwright";
import { fromJsonSchema } from "turnwright/json-schema";

const validator = fromJsonSchema(JSON.parse(readFileSync("docs/run-log.schema.json", "utf8")) as JsonSchema);

/** Returns the problems of a line of a log, by the schema of the documentation. */
export async function problemsOf(line: string): Promise<readonly string[]> {
  const { issues = [] } = await validator["~standard"].validate(JSON.parse(line));
  return issues.map(({ message }) => message);
}
