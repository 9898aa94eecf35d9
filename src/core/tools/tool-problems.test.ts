import { afterEach, expect, it } from "vitest";
import { edges } from "../../shared/edges.ts";
import { defineTool } from "./define-tool.ts";
import { createToolRegistry } from "./registry.ts";

const whole = { ...edges };
afterEach(() => void Object.assign(edges, whole));

function leaveOut(...names: readonly (keyof typeof edges)[]): void {
  for (const name of names) Reflect.deleteProperty(edges, name);
}

const tool = { name: "work", description: "", inputSchema: { type: "object" }, execute: () => 1 };

const rows: readonly [what: string, fields: object, problem: string | undefined][] = [
  ["no invalid field", {}, undefined],
  ["an invalid name", { name: "a b" }, 'has an invalid "name"'],
  ["no description", { description: undefined }, 'has an invalid "description"'],
  ["a string as inputSchema", { inputSchema: "object" }, 'has an invalid "inputSchema"'],
  ["a misnamed execute", { execute: undefined, run: () => 1 }, 'Rename "run" to "execute"'],
  ["an invalid trait", { sequential: "yes" }, 'has an invalid "sequential"'],
  ["retry without idempotent", { retry: { maxAttempts: 2 } }, 'needs "idempotent: true"'],
  ["retry and idempotent", { retry: { maxAttempts: 2 }, idempotent: true }, undefined],
  ["eager without execute", { eager: true, execute: undefined }, 'has "eager" without "execute"'],
  ["eager and sequential", { eager: true, sequential: true }, "exclude each other"],
  ["eager and needsApproval", { eager: true, needsApproval: true }, "exclude each other"],
  ["a releasesResults that is not a boolean", { releasesResults: {} }, 'has an invalid "releasesResults"'],
  ["an unknown field", { sequental: true }, 'did you mean "sequential"?'],
  ["an unknown field named toString", { toString: () => "" }, 'has an unknown field "toString"'],
];

it.for(rows)("defineTool: validates a tool with %s", ([, fields, problem]) => {
  const define = (): unknown => defineTool({ ...tool, ...fields } as never);
  if (problem === undefined) expect(define).not.toThrow();
  else expect(define).toThrow(problem);
});

it.for([[{ name: "a b" }], [{ name: undefined }], [{ description: undefined }]])(
  "defineTool: rejects a tool with %o, even in a build without detailed error messages",
  ([fields]) => {
    leaveOut("checkTool");
    expect(() => defineTool({ ...tool, ...fields } as never)).toThrow("has an invalid field");
    expect(defineTool(tool)).toBe(tool);
  },
);

it("createToolRegistry: rejects a schema that is not JSON, even in a build without detailed error messages", () => {
  const define = (): unknown => createToolRegistry([{ ...tool, inputSchema: { type: "object", default: 1n as never } }]);
  expect(define).toThrow("is not JSON: a BigInt");
  leaveOut("findSchemaProblem", "checkTool");
  expect(define).toThrow("is not JSON");
});
