import { describe, expect, it } from "vitest";
import { isLoopError } from "../core/index.ts";
import type { McpClientV1 } from "./mcp-client.ts";
import { createMcpRegistry } from "./create-mcp-registry.ts";

const asked: string[] = [];
const client: McpClientV1 = {
  getServerCapabilities: () => ({ tools: {} }),
  listTools: async () => {
    asked.push("listTools");
    return { tools: [] };
  },
  callTool: async () => ({}),
  setNotificationHandler: () => void asked.push("setNotificationHandler"),
  removeNotificationHandler: () => {},
};

describe("createMcpRegistry: options", () => {
  it.for<[code: string, when: string, options: unknown, option: string, received: string | undefined]>([
    ["invalid-option", "the options are undefined", undefined, "options", "undefined"],
    ["invalid-option", "the client is missing", {}, "client", "undefined"],
    ["invalid-option", "the client has no methods", { client: {} }, "client", "an object"],
    ["invalid-option", "the client has no callTool", { client: { ...client, callTool: undefined } }, "client", "an object"],
    [
      "invalid-option",
      "the client is not connected",
      { client: { ...client, transport: undefined } },
      "client",
      "a client without a connection",
    ],
    ["invalid-option", "the prefix is empty", { client, prefix: "" }, "prefix", '""'],
    ["invalid-option", "the prefix contains a space", { client, prefix: "git hub" }, "prefix", '"git hub"'],
    ["invalid-option", "the prefix has 33 characters", { client, prefix: "x".repeat(33) }, "prefix", "a string of 33 characters"],
    ["invalid-option", "annotations has an unknown value", { client, annotations: "trusted" }, "annotations", '"trusted"'],
    ["invalid-option", "traits is not a function", { client, traits: {} }, "traits", "an object"],
    ["invalid-option", "meta is not a function", { client, meta: {} }, "meta", "an object"],
    ["invalid-option", "listChanged is not a boolean", { client, listChanged: 1 }, "listChanged", "1"],
    ["invalid-option", "onError is not a function", { client, onError: "log" }, "onError", '"log"'],
    ["unknown-option", "an option is misspelled", { client, prefx: "x_" }, "prefx", undefined],
  ])('rejects with "%s" before any request if %s', async ([code, , options, option, received]) => {
    asked.length = 0;
    const error: unknown = await createMcpRegistry(options as never).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!isLoopError(error)) throw new Error("It was not refused.");
    expect({ code: error.code, ...error.details }).toMatchObject({
      code,
      option,
      ...(received === undefined ? {} : { received }),
    });
    expect(asked).toEqual([]);
  });

  it("accepts undefined for each optional option", async () => {
    const none = { prefix: undefined, annotations: undefined, traits: undefined, meta: undefined, onError: undefined };
    const registry = await createMcpRegistry({ client, listChanged: undefined, ...none });
    expect(registry.definitions()).toEqual([]);
  });

  it("accepts a prefix of 32 characters", async () => {
    await expect(createMcpRegistry({ client: { ...client, transport: {} }, prefix: "x".repeat(32) })).resolves.toBeDefined();
  });
});
