import { expect, it } from "vitest";
import type { LoopOptions } from "turnwright";
import { type MockMessage, text, toolCall, wait } from "turnwright/testing";
import { play, type Playing, tool } from "./play.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

const verbs: readonly (readonly [verb: string, act: (playing: Playing) => unknown])[] = [
  ["steer", ({ control }) => control.steer("Hey.")],
  ["interrupt", ({ control }) => control.interrupt("Hey.")],
  ["drain", ({ control }) => control.drain()],
  ["stop", ({ control }) => control.stop({ requester: "Ada", note: "enough" })],
  ["kill", ({ control }) => control.kill()],
  ["abort", ({ abort }) => abort.abort("gone")],
];

async function tellApart(script: readonly MockMessage[]): Promise<string> {
  const rows: string[] = [];
  for (const [verb, act] of verbs) {
    const playing = play([...script, text("More.")], ({ clock }): Partial<LoopOptions> => {
      const later = (): Promise<string> => new Promise((resolve) => clock.setTimeout(() => resolve("done"), 100));
      const tools = [tool("quick", () => "done"), tool("slow", later), tool("alone", () => "done", { sequential: true })];
      return { tools };
    });
    await playing.clock.advance(50);
    expect(act(playing)).toBe(verb === "abort" ? undefined : "accepted");
    await playing.clock.runAll();
    const { clock, provider, recording } = playing;
    const result = await playing.result;
    const sent = provider.requests.map((request) => linesOf(request.messages));
    expect(sent, "requests are what the transcript was").toEqual(
      sent.map((lines) => linesOf(result.messages).slice(0, lines.length)),
    );
    const late = recording.of("late-result").map(({ callId }) => `late ${callId}`);
    rows.push(
      `${verb} -> ${result.status} ${JSON.stringify(result.reason)} at ${playing.endedAt()} ms`,
      ...linesOf(result.messages).map((line) => `  ${line}`),
      `  text "${result.text}", streamed "${result.streamResults.map((iteration) => iteration.text).join("|")}"`,
      `  history ${result.functionHistory.map((entry) => `${entry.functionCall.id} ${entry.outcome}`).join(", ")}`,
      `  ${[`requests of ${sent.map((lines) => lines.length).join(" and ")} messages`, ...late, ...textsOf(result.undelivered).map((said) => `undelivered ${said}`)].join(", ")}`,
    );
    expect([clock.pending, provider.active]).toEqual([0, 0]);
  }
  return rows.join("\n");
}

it("each method of LoopControl gives the expected result while the first iteration streams", async () => {
  expect(await tellApart([[text("Let me "), wait(100), text("see.")]])).toMatchInlineSnapshot(`
    "steer -> completed {"kind":"answered"} at 100 ms
      user: Go.
      assistant: Let me see.
      user: Hey.
      assistant: More.
      text "More.", streamed "Let me see.|More."
      history 
      requests of 1 and 3 messages
    interrupt -> follow-up-interrupt {"kind":"interrupted","message":{"role":"user","content":"Hey."}} at 50 ms
      user: Go.
      text "", streamed "Let me "
      history 
      requests of 1 messages
    drain -> completed {"kind":"answered"} at 100 ms
      user: Go.
      assistant: Let me see.
      text "Let me see.", streamed "Let me see."
      history 
      requests of 1 messages
    stop -> stopped-by-user {"kind":"stopped","requester":"Ada","note":"enough"} at 50 ms
      user: Go.
      assistant: Let me 
      text "Let me", streamed "Let me "
      history 
      requests of 1 messages
    kill -> stopped-by-user {"kind":"killed"} at 50 ms
      user: Go.
      assistant: Let me 
      text "Let me", streamed "Let me "
      history 
      requests of 1 messages
    abort -> stopped-by-user {"kind":"aborted","reason":"gone"} at 50 ms
      user: Go.
      assistant: Let me 
      text "Let me", streamed "Let me "
      history 
      requests of 1 messages"
  `);
});

it("each method of LoopControl gives the expected result before and while tools run", async () => {
  const script = [[text("On it. "), toolCall("quick"), toolCall("slow"), toolCall("alone")]];
  expect(await tellApart(script)).toMatchInlineSnapshot(`
    "steer -> completed {"kind":"answered"} at 100 ms
      user: Go.
      assistant: On it. [call_i0_0][call_i0_1][call_i0_2]
      tool: call_i0_0 completed, call_i0_1 completed, call_i0_2 completed
      user: Hey.
      assistant: More.
      text "More.", streamed "On it. |More."
      history call_i0_0 completed, call_i0_1 completed, call_i0_2 completed
      requests of 1 and 4 messages
    interrupt -> completed {"kind":"answered"} at 100 ms
      user: Go.
      assistant: On it. [call_i0_0][call_i0_1][call_i0_2]
      tool: call_i0_0 completed, call_i0_1 completed, call_i0_2 completed
      assistant: More.
      text "More.", streamed "On it. |More."
      history call_i0_0 completed, call_i0_1 completed, call_i0_2 completed
      requests of 1 and 3 messages, undelivered Hey.
    drain -> suspended {"kind":"drained"} at 100 ms
      user: Go.
      assistant: On it. [call_i0_0][call_i0_1][call_i0_2]
      tool: call_i0_0 completed, call_i0_1 completed, call_i0_2 completed
      text "On it.", streamed "On it. "
      history call_i0_0 completed, call_i0_1 completed, call_i0_2 completed
      requests of 1 messages
    stop -> stopped-by-user {"kind":"stopped","requester":"Ada","note":"enough"} at 100 ms
      user: Go.
      assistant: On it. [call_i0_0][call_i0_1][call_i0_2]
      tool: call_i0_0 completed, call_i0_1 interrupted, call_i0_2 not-run
      text "On it.", streamed "On it. "
      history call_i0_0 completed
      requests of 1 messages, late call_i0_1
    kill -> stopped-by-user {"kind":"killed"} at 50 ms
      user: Go.
      assistant: On it. [call_i0_0][call_i0_1][call_i0_2]
      tool: call_i0_0 completed, call_i0_1 interrupted, call_i0_2 not-run
      text "On it.", streamed "On it. "
      history call_i0_0 completed
      requests of 1 messages
    abort -> stopped-by-user {"kind":"aborted","reason":"gone"} at 50 ms
      user: Go.
      assistant: On it. [call_i0_0][call_i0_1][call_i0_2]
      tool: call_i0_0 completed, call_i0_1 interrupted, call_i0_2 not-run
      text "On it.", streamed "On it. "
      history call_i0_0 completed
      requests of 1 messages"
  `);
});

it("each method of LoopControl gives the expected result while a later iteration streams", async () => {
  expect(await tellApart([toolCall("quick"), [text("Let me "), wait(100), text("see.")]])).toMatchInlineSnapshot(`
    "steer -> completed {"kind":"answered"} at 100 ms
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      assistant: Let me see.
      user: Hey.
      assistant: More.
      text "More.", streamed "|Let me see.|More."
      history call_i0_0 completed
      requests of 1 and 3 and 5 messages
    interrupt -> completed {"kind":"answered"} at 100 ms
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      assistant: Let me see.
      text "Let me see.", streamed "|Let me see."
      history call_i0_0 completed
      requests of 1 and 3 messages, undelivered Hey.
    drain -> completed {"kind":"answered"} at 100 ms
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      assistant: Let me see.
      text "Let me see.", streamed "|Let me see."
      history call_i0_0 completed
      requests of 1 and 3 messages
    stop -> stopped-by-user {"kind":"stopped","requester":"Ada","note":"enough"} at 50 ms
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      assistant: Let me 
      text "Let me", streamed "|Let me "
      history call_i0_0 completed
      requests of 1 and 3 messages
    kill -> stopped-by-user {"kind":"killed"} at 50 ms
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      assistant: Let me 
      text "Let me", streamed "|Let me "
      history call_i0_0 completed
      requests of 1 and 3 messages
    abort -> stopped-by-user {"kind":"aborted","reason":"gone"} at 50 ms
      user: Go.
      assistant: [call_i0_0]
      tool: call_i0_0 completed
      assistant: Let me 
      text "Let me", streamed "|Let me "
      history call_i0_0 completed
      requests of 1 and 3 messages"
  `);
});
