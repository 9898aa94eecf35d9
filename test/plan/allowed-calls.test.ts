import { describe, expect, it } from "vitest";
import { finish, type MockPart, type MockMessage, providerMetadata, text, toolCall } from "turnwright/testing";
import { outcomesOf } from "../loop/play.ts";
import { add, command, execute, plan, respond, shownTo } from "./plan-stage.ts";

describe("withPlanner", () => {
  it("requests the answer immediately if no tool may be called", async () => {
    for (const more of [{ tools: [] }, { tools: [add], toolChoice: "none" as const }]) {
      const { result, model } = plan([text("Hello.")], more);
      expect([(await result).text, model.calls]).toEqual(["Hello.", 1]);
    }
    const { result, model } = plan([respond, text("Hello.")], { toolChoice: { name: "look" } });
    await result;
    expect(shownTo(model.requests[0]).available_tools).toMatchObject([{ tool_name: "look", description: "look" }]);
  });

  it("runs only the tool that toolChoice names", async () => {
    const chosen = { toolChoice: { name: "look" } } as const;
    const { result, model } = plan(
      [execute(command("add"), command("look")), execute(command("look")), respond, text("Quiet.")],
      chosen,
    );
    expect([outcomesOf(await result), (await result).text]).toEqual([["call_i0_0: completed"], "Quiet."]);
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      content: expect.stringContaining('Only the tool "look" may be used now.'),
    });
    const stubborn = plan([], chosen, { planner: () => ({ tool_command: command("add") }) });
    expect((await stubborn.result).reason).toMatchObject({ kind: "provider-error", error: { code: "no-output" } });
  });

  it("drops provider metadata from an answer that contains calls", async () => {
    const turn = (...more: readonly MockPart[]): MockMessage => [providerMetadata({ mark: 1 }), text("Hm."), ...more];
    const marks = async (...turns: readonly MockMessage[]): Promise<readonly unknown[]> => {
      const { messages } = await plan([respond, ...turns]).result;
      return messages
        .flatMap((message) => (message.role === "assistant" ? (message.providerMetadata ?? []) : []))
        .map(({ item }) => item);
    };
    const planned = expect.objectContaining({ type: "turnwright.plan" });
    expect(await marks(turn())).toEqual([{ mark: 1 }, planned]);
    expect(await marks(turn(toolCall("look")))).toEqual([planned]);
    expect(await marks(turn(toolCall("look"), finish("paused")), [text("Well.")])).toEqual([planned]);
  });

  it("ignores tool calls that the model makes in a plan or an answer", async () => {
    const { result, model } = plan([
      [respond, toolCall("look")],
      [text("Hm."), toolCall("look"), finish("tool-calls")],
    ]);
    const { reason, text: said, toolCallsExecuted } = await result;
    expect([reason.kind, said, toolCallsExecuted, model.calls]).toEqual(["answered", "Hm.", 0, 2]);
  });
});
