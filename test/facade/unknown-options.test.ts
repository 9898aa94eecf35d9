import { describe, expect, it } from "vitest";
import { defer, isLoopError } from "turnwright";
import { rerunFrom } from "turnwright/inspect";
import { importTools } from "turnwright/interop";
import { createRunTree, createTeam, renderTree } from "turnwright/middleware";
import { finish, runTool, stall } from "turnwright/testing";
import { play, tool } from "../loop/play.ts";
import { text, toolCall } from "turnwright/testing";

const any = (value: object): never => value as never;
const aiTool = { description: "a", inputSchema: { type: "object" }, execute: () => 1 };
const member = (more: object): unknown => createTeam(any({ members: { a: { description: "a", system: "a", ...more } } }));

async function refusalOf(call: () => unknown): Promise<unknown> {
  const error: unknown = await Promise.resolve()
    .then(call)
    .catch((thrown: unknown) => thrown);
  return isLoopError(error) ? [error.code, "option" in error.details && error.details.option] : error;
}

describe("unknown and invalid options", () => {
  it.for<[name: string, call: () => unknown, code: string, option: string]>([
    ["createRunTree", () => createRunTree(any({ nme: "lead" })), "unknown-option", "nme"],
    ["renderTree", () => renderTree(createRunTree(), any({ widht: 80 })), "unknown-option", "widht"],
    ["finish", () => finish("stop", any({ tokn: "a" })), "unknown-option", "tokn"],
    ["stall", () => stall(any({ ignoresSignal: true })), "unknown-option", "ignoresSignal"],
    ["rerunFrom", () => rerunFrom("no.jsonl", any({ iteration: 0, run: "a" }), any({})), "unknown-option", "at.run"],
    ["rerunFrom without an iteration", () => rerunFrom("no.jsonl", any({}), any({})), "invalid-option", "at.iteration"],
    ["importTools", () => importTools({ look: aiTool }, { lok: {} }), "unknown-option", "overrides.lok"],
    ["createTeam: a limit", () => member({ limits: { maxIteration: 1 } }), "unknown-option", "members.a.limits.maxIteration"],
    ["createTeam: middleware", () => member({ middleware: {} }), "invalid-option", "members.a.middleware"],
    [
      "runTool",
      () =>
        runTool(
          tool("t", () => 1),
          {},
          any({ session: { surfaceUserError: false } }),
        ),
      "unknown-option",
      "overrides.session.surfaceUserError",
    ],
  ])("are refused by %s", async ([, call, code, option]) => {
    expect(await refusalOf(call)).toEqual([code, option]);
  });

  it.for<[what: string, call: (context: never) => unknown, message: string]>([
    ["defer", () => defer({ fromPages: true } as never), "defer.fromPages"],
    [
      "context.emit",
      (context: { emit(part: object): void }) => context.emit({ type: "text", text: "a", name: "b" }),
      "emit(part).name",
    ],
  ])("make the call fail if they are passed to %s", async ([, call, message]) => {
    const playing = play([toolCall("t"), text("Hi.")], { tools: [tool("t", (_, context) => call(context as never))] });
    const [outcome] = (await playing.result).calls;
    expect(outcome).toMatchObject({ outcome: "failed", result: { reason: expect.stringContaining(`"${message}"`) } });
  });
});
