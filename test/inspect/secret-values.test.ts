import { describe, expect, it } from "vitest";
import { defineTool, type Json } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { logRun } from "./log-run.ts";

const key = "sk-abc12345678901";

describe("runLog: secret values", () => {
  const value = "correct horse";
  const logged = async (result: Json): Promise<Json | undefined> => {
    const tool = defineTool({ name: "look", description: "Looks", inputSchema: { type: "object" }, execute: () => result });
    const provider = createMockProvider([toolCall("look"), text("Done.")]);
    const { log } = await logRun({ provider, tools: [tool], messages: [{ role: "user", content: "Go." }] });
    return log.runs[0]?.iterations[0]?.calls[0]?.result;
  };
  const hidden: readonly (readonly [data: Json, written: Json])[] = [
    [{ password: [value, [value]] }, { password: ["[redacted]", ["[redacted]"]] }],
    [{ cookie: { a: value, b: { c: 1, d: true } } }, { cookie: { a: "[redacted]", b: { c: "[redacted]", d: true } } }],
    [{ token: 12_345_678_901 }, { token: "[redacted]" }],
    [
      { name: "password", value },
      { name: "password", value: "[redacted]" },
    ],
    [
      { value: [value], key: "api_key" },
      { value: ["[redacted]"], key: "api_key" },
    ],
    [
      [
        ["Authorization", value],
        ["Accept", "text/html"],
      ],
      [
        ["Authorization", "[redacted]"],
        ["Accept", "text/html"],
      ],
    ],
  ];

  it.for(hidden)("are removed from %j", async ([data, written]) => {
    expect(await logged(data)).toEqual(written);
  });

  it.for<Json>([{ tokens: 512, pass: 3 }, { name: "city", value: "Oslo" }, ["Oslo", "Bergen"], { password: null }])(
    "are not suspected in %j, which is logged unchanged",
    async (data) => {
      expect(await logged(data)).toEqual(data);
    },
  );

  it('are not suspected in an input schema, even in the schema of a field named "password"', async () => {
    const inputSchema = {
      type: "object",
      properties: { password: { type: "string", minLength: 12 } },
      required: ["password", "email"],
    };
    const tool = defineTool({ name: "look", description: "Looks", inputSchema, execute: () => 1 });
    const { log } = await logRun({
      provider: createMockProvider([text("Done.")]),
      tools: [tool],
      messages: [{ role: "user", content: "Go." }],
    });
    expect(log.runs[0]?.iterations[0]?.request?.tools).toMatchObject([{ inputSchema }]);
  });
});

describe("runLog: names and ids", () => {
  it("are passed to the `redact` option if they are file names or malformed media types", async () => {
    const { lines } = await logRun(
      {
        provider: createMockProvider([text("Done.")]),
        messages: [
          {
            role: "user",
            content: [
              { type: "file", mediaType: "application/pdf", data: "abc", name: "private.pdf" } as never,
              { type: "image", mediaType: "private/x y", data: "abc" },
            ],
          },
        ],
      },
      { redact: (said) => said.replaceAll("private", "***") },
    );
    expect(lines.join("")).not.toContain("private");
    expect(lines.join("")).toContain("application/pdf");
  });

  it("do not contain credentials in the log, even if the model chose the names", async () => {
    const { lines, log } = await logRun({
      provider: createMockProvider([[toolCall(key, {}, { id: `id ${key}` })], text("Done.")]),
      messages: [{ role: "user", content: "Go." }],
    });
    expect(lines.join("")).not.toContain(key);
    expect(log.runs[0]?.iterations[0]?.calls).toMatchObject([{ name: "[redacted]", outcome: "unknown-tool" }]);
  });
});
