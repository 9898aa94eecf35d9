import { describe, expect, it } from "vitest";
import { runInWorkflow } from "turnwright/restate";

const isOld = Number.parseInt(process.versions.node, 10) < 22;

describe("runInWorkflow", () => {
  it(isOld ? "throws on Node 20 and names the required Node version" : "throws without a Restate context", async () => {
    const message = isOld ? `needs Node 22 or later. This is Node ${process.version}.` : "with the context of a Restate workflow";
    await expect(runInWorkflow(undefined as never, () => Promise.reject(new Error("never")))).rejects.toThrow(message);
  });
});
