import { readFileSync } from "node:fs";
import type { JsonSchema } from "turnwright";
import { fromJsonSchema } from "turnwright/json-schema";

const validator = fromJsonSchema(JSON.parse(readFileSync("docs/run-log.schema.json", "utf8")) as JsonSchema);

/** Validates a line of a log with the schema in the documentation. */
export async function problemsOf(line: string): Promise<readonly string[]> {
  const { issues = [] } = await validator["~standard"].validate(JSON.parse(line));
  return issues.map(({ message }) => message);
}
