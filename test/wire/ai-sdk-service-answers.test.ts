import { describe, expect, it } from "vitest";
import type { AssistantMessage } from "turnwright";
import { createBench, user } from "./ai-sdk-bench.ts";
import { answer, call, metadata, part } from "./ai-sdk-message-parts.ts";
import { specs } from "./ai-sdk-specs.ts";

describe.each(specs.filter(({ version }) => version !== "v2"))("aiSdkModel (spec $version): an approval response", (spec) => {
  const asked = { type: "tool-call", toolCallId: "m", toolName: "mcp.pay", input: {}, providerExecuted: true };
  const approval = { approvalId: "ap_1", approved: false, reason: "No." };

  it("is sent between the call and the text after the approval", async () => {
    const { send } = createBench(spec);
    const message: AssistantMessage = {
      role: "assistant",
      content: [{ type: "text", text: "Then not." }],
      providerMetadata: metadata("mock.chat", "m", part(asked), { approval }, part({ type: "text", text: "Then not." })),
    };
    expect(await send({ messages: [user("Pay."), message] })).toMatchObject({
      prompt: [
        { role: "user" },
        { role: "assistant", content: [asked] },
        { role: "tool", content: [{ type: "tool-approval-response", ...approval }] },
        { role: "assistant", content: [{ type: "text", text: "Then not." }] },
      ],
    });
  });

  it("shares one tool message with the results of other calls", async () => {
    const { send } = createBench(spec);
    const own = { type: "tool-call", toolCallId: "a", toolName: "search", input: { q: 1 } };
    const message: AssistantMessage = {
      role: "assistant",
      content: [call("a")],
      providerMetadata: metadata("mock.chat", "m", part(own), part(asked), { approval }),
    };
    expect(await send({ messages: [user("Pay."), message, { role: "tool", results: [answer("a")] }] })).toMatchObject({
      prompt: [
        { role: "user" },
        { role: "assistant", content: [own, asked] },
        { role: "tool", content: [{ type: "tool-approval-response" }, { type: "tool-result", toolCallId: "a" }] },
      ],
    });
  });
});
