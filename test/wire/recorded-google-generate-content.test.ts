import { describe, expect, it } from "vitest";
import { googleGenerateContent } from "../../src/google/index.ts";
import type { Json, Usage } from "../../src/core/index.ts";
import { connectGoogle } from "./google-client.ts";
import { chunk } from "./google-frames.ts";
import type { Iteration, IterationCall } from "./provider-iteration.ts";
import { hasRecorded, readBody, readRecorded } from "./recorded-streams.ts";

interface Recorded {
  readonly name: string;
  readonly vertexai?: boolean;
  readonly calls: readonly IterationCall[];
  readonly usage: Usage;
  readonly finish: string;
  /** The kind or the tool name of each part, followed by `signed` if the part has a signature. */
  readonly providerMetadata: readonly string[];
}

const used = (inputTokens: number, candidates: number, thoughts: number): Usage => ({
  inputTokens,
  outputTokens: candidates + thoughts,
  totalTokens: inputTokens + candidates + thoughts,
  reasoningTokens: thoughts,
});
const called = (name: string, args: object): IterationCall => ({ id: undefined, name, args });

const recorded: readonly Recorded[] = [
  { name: "google-text", calls: [], usage: used(9, 23, 185), finish: "stop", providerMetadata: ["text", "text signed"] },
  {
    name: "google-reasoning-gemini3",
    calls: [],
    usage: used(9, 23, 302),
    finish: "stop",
    providerMetadata: ["text", "text signed"],
  },
  {
    name: "google-tool-call",
    calls: [called("weather", { location: "San Francisco" })],
    usage: used(29, 15, 45),
    finish: "tool-calls",
    providerMetadata: ["weather signed"],
  },
  {
    name: "google-tool-call-gemini3",
    calls: [called("weather", { location: "San Francisco" })],
    usage: used(29, 15, 804),
    finish: "tool-calls",
    providerMetadata: ["weather signed"],
  },
  {
    name: "google-stream-tool-call-arguments",
    vertexai: true,
    calls: [called("getWeather", { location: "Boston" }), called("getWeather", { location: "San Francisco" })],
    usage: used(26, 23, 132),
    finish: "tool-calls",
    providerMetadata: ["getWeather signed", "getWeather"],
  },
  {
    name: "google-stream-no-args-tool-call",
    vertexai: true,
    calls: [
      called("read_theme", {}),
      called("read_screen", { id: "A" }),
      called("read_screen", { id: "B" }),
      called("read_screen", { id: "C" }),
    ],
    usage: used(249, 58, 183),
    finish: "tool-calls",
    providerMetadata: ["thought", "read_theme signed", "read_screen", "read_screen", "read_screen"],
  },
];

/** Does not use the adapter. */
function joinTexts(events: readonly unknown[], isThought: boolean): string {
  return events
    .flatMap((event) => Object(event).candidates?.[0]?.content?.parts ?? [])
    .map((part) => ((part.thought === true) === isThought ? (part.text ?? "") : ""))
    .join("");
}

const kindOf = (item: Json): string => {
  const { functionCall, thought, thoughtSignature } = Object(item).part;
  const kind = functionCall?.name ?? (thought === true ? "thought" : "text");
  return thoughtSignature === undefined ? kind : `${kind} signed`;
};

if (hasRecorded("google-generate-content")) {
  describe.for(recorded)(
    "googleGenerateContent: recorded stream $name",
    { timeout: 30_000 },
    ({ name, vertexai = false, ...facts }) => {
      const events = readRecorded("google-generate-content", name).map((line): object => JSON.parse(line));
      const body = events.map(chunk).join("");
      const signatures =
        events
          .map((event) => JSON.stringify(event))
          .join("")
          .match(/"thoughtSignature":"[^"]+"/g) ?? [];

      async function check(sent: string, pieceBytes: number): Promise<void> {
        const connect = (url: string): ReturnType<typeof connectGoogle> => connectGoogle(url, { pieceBytes, vertexai });
        const { iteration, providerMetadata } = await readBody(sent, (url) =>
          googleGenerateContent({ client: connect(url).client, model: "m" }),
        );
        const { calls, usage, finish } = facts;
        const said: Iteration = {
          text: joinTexts(events, false),
          reasoning: joinTexts(events, true),
          refusal: "",
          calls,
          usage,
          finish,
          error: undefined,
        };
        expect(iteration).toEqual(said);
        expect(providerMetadata.map(kindOf)).toEqual(facts.providerMetadata);
        expect(JSON.stringify(providerMetadata).match(/"thoughtSignature":"[^"]+"/g) ?? []).toEqual(signatures);
      }

      it.for([1, 3, 7, 61, 997, 65_537])(
        "yields the recorded text, calls and usage if the stream arrives in %i-byte pieces",
        (pieceBytes) => check(body, pieceBytes),
      );

      it("yields the recorded content with LF line endings", () => check(body.replaceAll("\r\n", "\n"), 7));

      it("yields the recorded content after a leading comment", () => check(`: a comment\r\n\r\n${body}`, 61));
    },
  );
} else {
  it("googleGenerateContent: the recorded streams are absent from this checkout", () => {
    expect(hasRecorded("google-generate-content")).toBe(false);
  });
}
