import { afterEach, describe, expect, it, vi } from "vitest";
import { createMcpRegistry } from "turnwright/mcp";
import { closing, generations } from "./connect.ts";
import { createToolServer } from "./tool-server.ts";

afterEach(() => void vi.useRealTimers());

describe.for(generations)("createMcpRegistry over $name with constant changes", (generation) => {
  it("stops listing tools at a limit if every listing reports another change", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const served = createToolServer([]);
    served.onListing(async () => {
      if (served.listings < 1_000) await served.setTools([{ name: `t${served.listings}` }]);
    });
    const { client } = await closing(generation.connectTo(served.server));
    const registry = await createMcpRegistry({ client });
    await new Promise((resolve) => void setImmediate(resolve));
    expect(served.listings).toBe(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([served.listings, registry.definitions()]).toMatchObject([12, [{ name: "t12" }]]);
    registry.close();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(served.listings).toBe(12);
  });
});
