import { defineTool, runToolLoop } from "turnwright";
import type { Adapter } from "./adapters.ts";
import { newIn, no, placeOf, type Probe, type ProbeGroup, send, withOption } from "./probe-kit.ts";
import { ask, runIteration } from "./provider-iteration.ts";
import type { Scripted, ScriptedTurn } from "./scripted.ts";
import type { Connecting } from "./wire.ts";

const yes = "yes";
const calling: ScriptedTurn = {
  calls: [
    ["call_1", "look", '{"city":"Oslo"}'],
    ["call_2", "look", '{"city":"Rome"}'],
  ],
  end: "tools",
};
const look = defineTool({ name: "look", description: "Looks", inputSchema: { type: "object" }, execute: () => "seen" });

async function streamsArguments(adapter: Adapter, connecting: Connecting): Promise<boolean> {
  const script = [{ ...calling, inPieces: connecting.options !== undefined }];
  const { iteration, chunks } = await send(adapter, { tools: [look] }, { ...connecting, script });
  if (iteration.calls.length !== 2 || iteration.error !== undefined)
    throw new Error(`The calls are lost: ${JSON.stringify(iteration)}`);
  const pieces = chunks.filter((chunk) => chunk.type === "call-args-delta" && chunk.text !== "");
  return pieces.length > iteration.calls.length;
}

const calls: ProbeGroup = {
  title: "Tool calls",
  about: "",
  probes: [
    {
      title: "Calls in parallel",
      async find(adapter) {
        const { iteration } = await send(adapter, { tools: [look] }, { script: [calling] });
        const [first, second] = iteration.calls;
        const isWhole = JSON.stringify([first?.args, second?.args]) === '[{"city":"Oslo"},{"city":"Rome"}]';
        if (isWhole && iteration.finish === "tool-calls") return yes;
        throw new Error(`The calls are not apart: ${JSON.stringify(iteration)}`);
      },
    },
    {
      title: "Arguments, streamed",
      async find(adapter) {
        if (await streamsArguments(adapter, {})) return yes;
        const options = { streamArguments: true };
        const isAsked = await withOption([options], () => streamsArguments(adapter, { options, vertexai: true }));
        return isAsked === true ? "by `streamArguments`, on Vertex AI" : no;
      },
    },
    {
      title: "A cancelled request closes its connection",
      async find(adapter) {
        const opened = await adapter.open([{ text: "Well", end: "silent" }]);
        const leaving = new AbortController();
        await runIteration(opened.provider, ask("Oslo?"), { signal: leaving.signal, onChunk: () => leaving.abort() });
        await opened.left;
        await opened.close();
        return yes;
      },
    },
  ],
};

const thought = "I ponder.";
const signature = "c2lnbmVk";

async function placeInEcho(adapter: Adapter, said: string, options: object): Promise<string> {
  const [call] = calling.calls ?? [];
  const turn: Scripted = { reasoning: [thought, signature], calls: call === undefined ? [] : [call], end: "tools" };
  const { provider, bodies, close } = await adapter.open([turn, { text: "Mild.", end: "stop" }], { options });
  const { status } = await runToolLoop({ provider, tools: [look], messages: [{ role: "user", content: "Oslo?" }] });
  await close();
  if (status !== "completed") throw new Error(`The run ended as ${status}.`);
  return placeOf(
    newIn(bodies[1], bodies[0]).filter(({ value }) => value === said),
    said,
  );
}

const echo = (title: string, said: string): Probe => ({
  title,
  async find(adapter) {
    const place = await placeInEcho(adapter, said, {});
    if (place !== no) return place;
    const options = { echoReasoning: "reasoning_content" };
    const asked = await withOption([options], () => placeInEcho(adapter, said, options));
    return asked === undefined || asked === no ? no : `${asked}, by \`echoReasoning\``;
  },
});

const reasoning: ProbeGroup = {
  title: "Reasoning",
  about: "Each cell names the field of the request that sends the reasoning of earlier messages back.",
  probes: [
    {
      title: "Streamed",
      async find(adapter) {
        const { iteration } = await send(
          adapter,
          {},
          { script: [{ reasoning: [thought, signature], text: "Mild.", end: "stop" }] },
        );
        if (iteration.reasoning !== thought || iteration.text !== "Mild.")
          throw new Error(`It is lost: ${JSON.stringify(iteration)}`);
        return yes;
      },
    },
    echo("Its text", thought),
    echo("Its signature or encrypted form", signature),
  ],
};

const usage = { input: 40, output: 9, cached: 10, cacheWrite: 5, reasoning: 4 };

function count(
  title: string,
  field: "inputTokens" | "outputTokens" | "cachedInputTokens" | "cacheWriteTokens" | "reasoningTokens",
  expected: number,
): Probe {
  return {
    title,
    async find(adapter) {
      const { iteration } = await send(adapter, {}, { script: [{ text: "Mild.", usage, end: "stop" }] });
      const counted = iteration.usage?.[field];
      if (counted === undefined) return no;
      if (counted !== expected) throw new Error(`${field} is ${counted}, but must be ${expected}.`);
      return yes;
    },
  };
}

const counts: ProbeGroup = {
  title: "Token counts",
  about: "",
  probes: [
    count("Input", "inputTokens", usage.input),
    count("Output", "outputTokens", usage.output),
    count("Read from a cache", "cachedInputTokens", usage.cached),
    count("Written to a cache", "cacheWriteTokens", usage.cacheWrite),
    count("Reasoning", "reasoningTokens", usage.reasoning),
  ],
};

function failure(title: string, scripted: Scripted): Probe {
  return {
    title,
    async find(adapter) {
      const { iteration } = await send(adapter, {}, { script: [scripted] });
      if (iteration.finish !== undefined) throw new Error(`The stream has ended well, as ${iteration.finish}.`);
      return `\`${iteration.error?.code ?? "stream-ended-early"}\``;
    },
  };
}

const errors: ProbeGroup = {
  title: "Errors",
  about: "Each cell is the `code` of the error.",
  probes: [
    failure("Status 400", { status: 400, message: "No." }),
    failure("Status 400, the prompt is too long", { status: 400, message: "prompt is too long: 9 tokens > 8 maximum" }),
    failure("Status 401", { status: 401, message: "No." }),
    failure("Status 429", { status: 429, message: "Slow." }),
    failure("Status 500", { status: 500, message: "Broken." }),
    failure("Status 503", { status: 503, message: "Busy." }),
    failure("Status 529", { status: 529, message: "Busy." }),
    failure("An error in the stream: the service is busy", { text: "Mi", end: "broken" }),
    failure("A connection that breaks", { text: "Mi", end: "dropped" }),
    failure("A stream that ends without its end marker", { text: "Mi", end: "lost" }),
    {
      title: "The wait that the service asks for",
      async find(adapter) {
        const { iteration } = await send(adapter, {}, { script: [{ status: 429, message: "Slow.", retryAfter: "7" }] });
        const { retryAfterMs } = iteration.error ?? {};
        if (retryAfterMs !== undefined && retryAfterMs !== 7_000) throw new Error(`It is ${retryAfterMs}.`);
        return retryAfterMs === undefined ? no : yes;
      },
    },
  ],
};

export const answerProbes: readonly ProbeGroup[] = [calls, reasoning, counts, errors];
