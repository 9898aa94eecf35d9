import type { ContentPart, Message } from "turnwright";
import type { Adapter } from "./adapters.ts";
import { type Leaf, newIn, type Probe, type ProbeGroup, send } from "./probe-kit.ts";

const content = "PROBE";
const base64 = Buffer.from(content).toString("base64");

type MediaPart = Exclude<ContentPart, { readonly type: "text" }>;

const kinds: readonly (readonly [what: string, type: MediaPart["type"], mediaType: string, ending: string])[] = [
  ["Image", "image", "image/png", "png"],
  ["PDF", "file", "application/pdf", "pdf"],
  ["Text", "file", "text/plain", "txt"],
  ["Audio", "file", "audio/wav", "wav"],
  ["Video", "file", "video/mp4", "mp4"],
];

const words: ContentPart = { type: "text", text: "Here:" };
const fromUser = (...parts: readonly ContentPart[]): readonly Message[] => [{ role: "user", content: [words, ...parts] }];
const fromTool = (...parts: readonly ContentPart[]): readonly Message[] => [
  { role: "user", content: "Look." },
  { role: "assistant", content: [{ type: "tool-call", callId: "call_1", name: "look", args: {} }] },
  {
    role: "tool",
    results: [{ callId: "call_1", name: "look", outcome: "completed", result: "Done.", content: [words, ...parts] }],
  },
];

/** The value may be the bytes, the text or the URL of the part. */
function isPart(value: unknown, { data }: MediaPart): boolean {
  if (typeof value !== "string") return false;
  return data === base64 ? value.endsWith(base64) || value.includes(content) : value === data;
}

const isWords = ({ value }: Leaf): boolean => typeof value === "string" && /\w \w/.test(value);

async function classify(adapter: Adapter, part: MediaPart, wrap: typeof fromUser): Promise<string> {
  const [without, { iteration, bodies }] = [
    await send(adapter, { messages: wrap() }),
    await send(adapter, { messages: wrap(part) }),
  ];
  if (bodies.length === 0 && iteration.error?.code === "bad-request") return "refused";
  if (iteration.error !== undefined) throw new Error(iteration.error.message);
  const leaves = newIn(bodies[0], without.bodies[0]);
  if (leaves.some(({ value }) => isPart(value, part))) return "sent";
  if (leaves.some(isWords)) return "described";
  throw new Error(`Nothing is said of ${part.mediaType}: ${JSON.stringify(leaves)}`);
}

function probesOf(wrap: typeof fromUser): readonly Probe[] {
  return kinds.flatMap(([what, type, mediaType, ending]): readonly Probe[] =>
    [base64, `https://media.test/probe.${ending}`].map((data) => ({
      title: `${what}, by its ${data === base64 ? "bytes" : "URL"}`,
      find: (adapter) => classify(adapter, { type, mediaType, data }, wrap),
    })),
  );
}

const about = `- *sent*: the service gets the part.
- *described*: the model reads text that names the part.
- *refused*: the iteration ends as \`bad-request\`, and no request is sent.

The probes use PNG images, WAV audio, MP4 videos and plain text files. [Other types](media.md) may give other results.`;

export const mediaProbes: readonly ProbeGroup[] = [
  { title: "Images and files from the user", about, probes: probesOf(fromUser) },
  {
    title: "Images and files from tools",
    about: "This is the same table for the `content` of tool results.",
    probes: probesOf(fromTool),
  },
];
