// The calls of a turn while they stream: those of the run's own tools for the loop, those of the service's for the next request.

import { isRecord, type Json, type ModelChunk, parseToolArguments, textOf, type UnknownRecord } from "../../spi.ts";
import { invalidArgumentsKey, type TurnParts } from "./turn-parts.ts";

/** The calls of one stream. */
export interface TurnCalls {
  /** How many of them are the run's. */
  readonly size: number;
  startInput(part: UnknownRecord): void;
  extendInput(part: UnknownRecord): void;
  /** Takes a whole call. */
  take(part: UnknownRecord): void;
  /** A call that the service runs, by its id. */
  executed(id: unknown): { readonly toolName: string; readonly input: Json } | undefined;
  /** Declares the calls cut off that began and never came whole. */
  settle(): void;
}

/** What calls are read with. */
interface CallPorts {
  readonly out: ModelChunk[];
  readonly parts: TurnParts;
  /** Names of the run's own tools. */
  readonly names: ReadonlySet<string>;
}

interface OpenCall {
  readonly key: string;
  readonly id: string;
  readonly name: string;
  /** Whether listeners hear of it while it streams. */
  readonly isHeard: boolean;
  argsText: string;
}

/** Makes an empty collection, which appends its chunks to `out` and its parts to `parts`. */
export function createTurnCalls({ out, parts, names }: CallPorts): TurnCalls {
  const open = new Map<unknown, OpenCall>();
  const executed = new Map<unknown, { readonly toolName: string; readonly input: Json }>();
  let begun = 0;
  let size = 0;

  function begin(id: unknown, name: string, isHeard: boolean): OpenCall {
    const call: OpenCall = { key: `call-${begun}`, id: textOf(id), name, isHeard, argsText: "" };
    begun += 1;
    return call;
  }

  function declareReady({ key, id, name }: OpenCall, argsText: string, whole: boolean): Json {
    const parsed = parseToolArguments(argsText);
    const args = "args" in parsed ? parsed.args : {};
    const problem = whole ? ("problem" in parsed ? parsed.problem : undefined) : "truncated";
    out.push({ type: "call-ready", key, id, name, args, argsText, problem });
    size += 1;
    return "args" in parsed && isRecord(parsed.args) ? toJson(parsed.args) : { [invalidArgumentsKey]: argsText };
  }

  return {
    get size() {
      return size;
    },
    startInput({ id, toolName, providerExecuted, inputEncoding }) {
      if (providerExecuted === true) return;
      const name = textOf(toolName);
      // A call that turns out to be the service's cannot be taken back, so that only what is known to be the run's is told at once.
      const isHeard = names.has(name) && inputEncoding !== "text";
      const call = begin(id, name, isHeard);
      open.set(id, call);
      if (isHeard) out.push({ type: "call-start", key: call.key, id: call.id, name });
    },
    extendInput({ id, delta }) {
      const call = open.get(id);
      const text = textOf(delta);
      if (call === undefined || text === "") return;
      call.argsText += text;
      if (call.isHeard) out.push({ type: "call-args-delta", key: call.key, text });
    },
    take({ toolCallId, toolName, input, providerExecuted, providerMetadata }) {
      const argsText = typeof input === "string" ? input : JSON.stringify(input ?? {});
      const name = textOf(toolName);
      const part = { type: "tool-call", toolCallId: textOf(toolCallId), toolName: name };
      const call = open.get(toolCallId);
      open.delete(toolCallId);
      if (providerExecuted === true) {
        const parsed = parseToolArguments(argsText);
        const whole = toJson("args" in parsed ? parsed.args : argsText);
        executed.set(toolCallId, { toolName: name, input: whole });
        parts.add({ ...part, input: whole, providerExecuted: true }, providerMetadata);
        return;
      }
      const known = call?.name === name ? call : begin(toolCallId, name, false);
      parts.add({ ...part, input: declareReady(known, argsText, true) }, providerMetadata);
    },
    executed: (id) => executed.get(id),
    settle() {
      for (const call of open.values()) {
        const input = declareReady(call, call.argsText, false);
        parts.add({ type: "tool-call", toolCallId: call.id, toolName: call.name, input }, undefined);
      }
      open.clear();
    },
  };
}

function toJson(value: unknown): Json {
  const copy: Json = JSON.parse(JSON.stringify(value ?? null));
  return copy;
}
