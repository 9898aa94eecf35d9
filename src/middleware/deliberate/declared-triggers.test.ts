import { describe, expect, it } from "vitest";
import { createToolRegistry, defineTool, gateTools, runToolLoop } from "../../core/index.ts";
import { createMockProvider, text } from "../../testing/index.ts";
import { createDeliberateMode, type DeliberateMode } from "./deliberate-mode.ts";

const allowedBy = (mode: DeliberateMode, said: string): readonly string[] => [...mode.forTurn({ text: said }).allowedNames];

describe("createDeliberateMode with tools", () => {
  it("prefers the `triggers` option to triggers that tools declare", () => {
    const named = (name: string, phrases?: string | readonly string[]) => ({ name, triggers: phrases });
    const tools = [named("search", "look"), named("set_reminder", ["remind*"]), named("danger", "^"), named("plain")];
    const mode = createDeliberateMode({ tools, triggers: { danger: [], set_reminder: "nudge" } });
    expect(allowedBy(mode, "look, a reminder")).toEqual(["search"]);
    expect(allowedBy(mode, "nudge")).toEqual(["set_reminder"]);
    expect(allowedBy(createDeliberateMode({ tools: [named("__proto__", "dunder")] }), "dunder")).toEqual(["__proto__"]);
  });

  it("reads triggers from a tool registry", async () => {
    const look = defineTool({ name: "look", description: "l", inputSchema: {}, triggers: "look", execute: () => 1 });
    const registry = createToolRegistry([look]);
    const gate = createDeliberateMode({ tools: registry }).forTurn({ text: "look" });
    expect([...gate.allowedNames]).toEqual(["look"]);
    const provider = createMockProvider([text("Done.")]);
    const messages = [{ role: "user", content: "look" }] as const;
    const { journal } = await runToolLoop({ provider, tools: registry, messages, middleware: [gateTools(gate)] });
    expect(JSON.stringify(journal)).not.toContain("triggers");
    const again = { provider, tools: [{ ...look, triggers: "peek" }], messages, journal };
    expect([(await runToolLoop(again)).text, provider.calls]).toEqual(["Done.", 1]);
  });

  it("never receives an invalid trigger from a tool, because defineTool throws", () => {
    const make = () => defineTool({ name: "a", description: "a", inputSchema: {}, triggers: 7 as never, execute: () => 1 });
    expect(make).toThrow('Tool "a" has an invalid "triggers": it is 7, but must be a string or an array of strings.');
  });
});
