import { expect, it } from "vitest";
import { fail, type MockScript, text, toolCall } from "turnwright/testing";
import type { HostedLoopOptions, ResumeAnswer } from "turnwright/host";
import { createStage, playing, readStart, tool } from "./stage.ts";

const approved = { kind: "approve" } as const;

it.for([
  ["a tool", ["Pays"], ["call_i0_0"]],
  ["a changed tool", ["Pays in EUR", "Pays in USD"], ["call_i0_0", "call_i0_0~2"]],
] as const)("host.resume: retries a failed run if the decision about %s arrives again", async ([, descriptions, answers]) => {
  const { host, id, clock } = createStage();
  const paid: string[] = [];
  let failures = 1;
  const script: MockScript = ({ messages }) => {
    if (messages.every(({ role }) => role !== "tool")) return toolCall("pay");
    failures -= 1;
    return failures < 0 ? text("Paid.") : fail(new Error("Down."));
  };
  const run = (description = ""): HostedLoopOptions => ({
    ...playing(script, clock),
    tools: [tool("pay", () => paid.push(description), { description, needsApproval: true })],
  });
  const resume = async (call: string): Promise<ResumeAnswer["kind"]> => {
    const answer = await host.resume(id, { ...run(descriptions.at(-1)), answers: { [call]: approved } });
    if (answer.kind === "started") await answer.result;
    return answer.kind;
  };
  await readStart(host.start(id, { ...run(descriptions[0]), message: "Pay." }));
  for (const call of answers) await resume(call);
  expect((await host.status(id))?.status).toBe("error");
  expect(paid).toHaveLength(1);
  expect(await resume(answers.at(-1) ?? "")).toBe("started");
  expect([(await host.status(id))?.status, paid.length]).toEqual(["completed", 1]);
});
