import { defineTool, runToolLoop } from "turnwright";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { adapters } from "./adapters.ts";

const text = "Good.";

describe.for(adapters.map((adapter) => [adapter.name, adapter] as const))(
  "%s: a tool call with empty or doubly encoded arguments",
  ([, { open }]) => {
    it.for([["null"], [" null "], [""]])(
      "runs with {} if the tool requires no parameter and the argument text is %j",
      async ([args = ""]) => {
        const asked: unknown[] = [];
        const tool = defineTool({
          name: "look",
          description: "Looks",
          inputSchema: z.object({ where: z.string().optional() }),
          execute: (given) => {
            asked.push(given);
            return "seen";
          },
        });
        const { provider, bodies, close } = await open([
          { calls: [["call_1", "look", args]], end: "tools" },
          { text, end: "stop" },
        ]);
        onTestFinished(close);
        const result = await runToolLoop({ provider, tools: [tool], messages: [{ role: "user", content: "Go." }] });
        expect([result.text, asked]).toEqual([text, [{}]]);
        // Services reject a history with arguments that are not an object.
        expect(JSON.stringify(bodies[1])).not.toMatch(/INVALID|"(?:args|arguments|input)":"?\s*null/);
      },
    );

    it("runs with the object if the arguments are a JSON string that contains the object", async () => {
      const asked: unknown[] = [];
      const tool = defineTool({
        name: "look",
        description: "Looks",
        inputSchema: z.object({ where: z.string() }),
        execute: (given) => {
          asked.push(given);
          return "seen";
        },
      });
      const { provider, bodies, close } = await open([
        { calls: [["call_1", "look", JSON.stringify('{"where":"Oslo"}')]], end: "tools" },
        { text, end: "stop" },
      ]);
      onTestFinished(close);
      const result = await runToolLoop({ provider, tools: [tool], messages: [{ role: "user", content: "Go." }] });
      expect([result.text, asked]).toEqual([text, [{ where: "Oslo" }]]);
      expect(JSON.stringify(bodies[1])).not.toMatch(/INVALID|\\\\\\"where/);
    });

    it.for([["null"], [""]])(
      "has the outcome invalid-input if the tool requires a parameter and the argument text is %j",
      async ([args = ""]) => {
        const tool = defineTool({
          name: "look",
          description: "Looks",
          inputSchema: z.object({ where: z.string() }),
          execute: () => "seen",
        });
        const { provider, close } = await open([
          { calls: [["call_1", "look", args]], end: "tools" },
          { text, end: "stop" },
        ]);
        onTestFinished(close);
        const { functionHistory } = await runToolLoop({ provider, tools: [tool], messages: [{ role: "user", content: "Go." }] });
        expect(functionHistory).toMatchObject([{ outcome: "invalid-input", functionCall: { args: {} } }]);
        expect(JSON.stringify(functionHistory)).toContain("where");
      },
    );
  },
);
