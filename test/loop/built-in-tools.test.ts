import { expect, it } from "vitest";
import { createContextRelease, createToolRegistry, type Tool } from "turnwright";
import { createResultCache } from "turnwright/cache";
import { runTool } from "turnwright/testing";

const builtIn: readonly (readonly [name: string, tool: Tool, args: object, misspelt: string, meant: string])[] = [
  ["context_release", createContextRelease(), {}, "callids", "call_ids"],
  ["read_part", createResultCache().tool, { action: "stats", id: "x" }, "startLine", "start_line"],
];

it.for(builtIn)(
  "the built-in tool %s forbids additional properties in its schema, and rejects unknown fields",
  async ([name, tool, args, misspelt, meant]) => {
    const [definition] = createToolRegistry([tool]).definitions();
    expect([definition?.name, definition?.inputSchema]).toMatchObject([name, { type: "object", additionalProperties: false }]);
    expect(await runTool(tool, { ...args, [misspelt]: null })).toMatchObject({
      kind: "invalid-input",
      issues: [{ message: `is not a field of this tool; did you mean "${meant}"?`, path: [misspelt] }],
    });
    expect(
      await runTool(
        tool,
        JSON.parse(
          JSON.stringify({ ...args })
            .replace("{", '{"__proto__":1,')
            .replace(",}", "}"),
        ),
      ),
    ).toMatchObject({
      kind: "invalid-input",
      issues: [{ path: ["__proto__"] }],
    });
  },
);
