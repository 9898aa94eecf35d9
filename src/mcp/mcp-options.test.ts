import { describe, expect, it } from "vitest";
import { isLoopError } from "../core/entry-kit.ts";
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
  it.for<[options: unknown, code: string, option: string, received: string | undefined]>([
    [undefined, "invalid-option", "options", "undefined"],
    [{}, "invalid-option", "client", "undefined"],
    [{ client: {} }, "invalid-option", "client", "an object"],
    [{ client: { ...client, callTool: undefined } }, "invalid-option", "client", "an object"],
    [{ client: { ...client, transport: undefined } }, "invalid-option", "client", "a client that is not connected"],
    [{ client, prefix: "" }, "invalid-option", "prefix", '""'],
    [{ client, prefix: "git hub" }, "invalid-option", "prefix", '"git hub"'],
    [{ client, prefix: "x".repeat(33) }, "invalid-option", "prefix", "a string of 33 characters"],
    [{ client, annotations: "trusted" }, "invalid-option", "annotations", '"trusted"'],
    [{ client, traits: {} }, "invalid-option", "traits", "an object"],
    [{ client, meta: {} }, "invalid-option", "meta", "an object"],
    [{ client, listChanged: 1 }, "invalid-option", "listChanged", "1"],
    [{ client, onError: "log" }, "invalid-option", "onError", '"log"'],
    [{ client, prefx: "x_" }, "unknown-option", "prefx", undefined],
  ])("rejects %j before any request with %s (%#)", async ([options, code, option, received]) => {
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

  it("accepts options that are undefined", async () => {
    const none = { prefix: undefined, annotations: undefined, traits: undefined, meta: undefined, onError: undefined };
    const registry = await createMcpRegistry({ client, listChanged: undefined, ...none });
    expect(registry.definitions()).toEqual([]);
  });

  it("accepts a prefix of 32 characters", async () => {
    await expect(createMcpRegistry({ client: { ...client, transport: {} }, prefix: "x".repeat(32) })).resolves.toBeDefined();
  });
});
