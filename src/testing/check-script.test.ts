import { describe, expect, it } from "vitest";
import { defineTool } from "../core/tools/define-tool.ts";
import { createMockProvider, type MockScript } from "./mock-provider.ts";
import { reasoning, refusal, text, toolCall } from "./mock-parts.ts";
import { providerSuite, type ProviderSuiteSetup } from "./provider-suite.ts";
import { registrySuite, type RegistrySuiteSetup } from "./registry-suite.ts";
import { runTool } from "./run-tool.ts";

const takes = "createMockProvider() expects an array of messages or a function (request, index) => message, but got";

describe("createMockProvider", () => {
  it.for<[what: string, script: unknown, message: string]>([
    ["a missing script", undefined, `${takes} undefined. Write createMockProvider([text("Hello.")]).`],
    ["a single part as the script", text("Hi."), `${takes} a single part. Write createMockProvider([text("Hello.")]).`],
    ["a string as the script", "Hi.", `${takes} "Hi.". Write createMockProvider([text("Hello.")]).`],
    [
      "a message that is a string",
      [text("a"), "Hi."],
      `The mock provider's script is invalid: message 1 is a string. Write text("...") for text from the model.`,
    ],
    [
      "a transcript message as a mock message",
      [{ role: "assistant", content: "Hi." }],
      `The mock provider's script is invalid: message 0 is a message. Write text("...") for text from the model, and toolCall(name, args) for a call.`,
    ],
    [
      "a content part as a mock part",
      [[text("a"), { type: "text", text: "Hi." }]],
      "The mock provider's script is invalid: part 1 of message 0 is a chunk or a content part. Wrap a chunk in chunk(...), or use text().",
    ],
    [
      "an array inside a message",
      [[[text("a")]]],
      "The mock provider's script is invalid: part 0 of message 0 is an array inside a message. Write a message as one part, or as one array of parts.",
    ],
    [
      "an unknown part",
      [{ kind: "say", text: "Hi." }],
      `The mock provider's script is invalid: message 0 is an object, but must be a part or an array of parts. Make parts with text("..."), toolCall(name, args) and the other functions from "turnwright/testing".`,
    ],
  ])("rejects %s", ([, script, message]) => {
    expect(() => createMockProvider(script as MockScript)).toThrow(new TypeError(message));
  });

  it.for<[what: string, first: unknown, second: object]>([
    ["two parts", text("a"), text("b")],
    ["an array and a part", [text("a")], text("b")],
    ["two arrays", [text("a")], [text("b")]],
  ])("rejects messages that are separate arguments: %s", ([, first, second]) => {
    expect(() => createMockProvider(first as MockScript, second)).toThrow(
      new TypeError(`${takes} a message as the second argument. Write createMockProvider([text("Hello.")]).`),
    );
  });

  it("rejects unknown options and invalid messages from a function", () => {
    expect(() => createMockProvider([], { modell: "m" } as object)).toThrow('Did you mean "model"?');
    const provider = createMockProvider((() => "Hi.") as unknown as MockScript);
    const request = { messages: [], tools: [], iteration: 0 };
    expect(() => provider.stream(request, {} as never)).toThrow("The mock provider's script is invalid: message 0 is a string.");
  });

  it("accepts empty scripts, empty messages and functions", () => {
    for (const script of [[], [[]], () => undefined]) expect(createMockProvider(script).calls).toBe(0);
  });
});

describe("mock parts", () => {
  it.for<[maker: string, make: (...args: readonly unknown[]) => unknown, message: string]>([
    [
      "text",
      text as never,
      'The first argument of text() is undefined, but must be the text, as a string. Write text("Hello.").',
    ],
    ["reasoning", reasoning as never, "The first argument of reasoning() is undefined, but must be the text, as a string"],
    ["refusal", refusal as never, "The first argument of refusal() is undefined, but must be the text, as a string"],
    [
      "toolCall",
      toolCall as never,
      'The first argument of toolCall() is undefined, but must be the name of the tool, as a string. Write toolCall("get_weather", { city: "Oslo" }).',
    ],
  ])("throw if the first argument is missing: %s()", ([, make, message]) => {
    expect(() => make()).toThrow(TypeError);
    expect(() => make()).toThrow(message);
  });

  it("throw if toolCall() receives an object instead of the name", () => {
    expect(() => toolCall({ name: "x" } as unknown as string)).toThrow("is an object, but must be");
  });
});

describe("providerSuite and registrySuite", () => {
  it.for<[what: string, setup: unknown, message: string]>([
    ["a missing setup", undefined, 'Option "setup" is undefined, but must be an object.'],
    ["a setup without create", {}, 'Option "setup.create" is undefined, but must be a function.'],
    ["a create option that is not a function", { create: {} }, 'Option "setup.create" is an object, but must be a function.'],
    ["an unknown option", { create: () => {}, within: 5 }, 'There is no option "setup.within". Did you mean "setup.withinMs"?'],
  ])("reject %s", ([, setup, message]) => {
    expect(() => providerSuite(setup as ProviderSuiteSetup)).toThrow(message);
    expect(() => registrySuite(setup as RegistrySuiteSetup)).toThrow(message);
  });
});

describe("runTool", () => {
  const tool = defineTool({ name: "t", description: "", inputSchema: {}, execute: () => 1 });
  it.for<[overrides: object, message: string]>([
    [{ timeoutMs: 1 }, 'There is no option "overrides.timeoutMs". Did you mean "overrides.timeouts"?'],
    [{ timeouts: { tool: 1 } }, 'There is no option "timeouts.tool".'],
    [{ session: 1 }, 'Option "overrides.session" is 1, but must be an object.'],
  ])("rejects the overrides %j", async ([overrides, message]) => {
    await expect(runTool(tool, {}, overrides)).rejects.toThrow(message);
  });
});
