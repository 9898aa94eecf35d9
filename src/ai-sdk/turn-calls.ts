// The calls of a turn while they stream: those of the run's own tools for the loop, those of the service's for the next request.

import {
  endArguments,
  FinishedCalls,
  isRecord,
  parseToolArguments,
  textOf,
  toArgumentsObject,
  toJson,
} from "../core/provider-kit.ts";
import type { Json, ModelChunk, UnknownRecord } from "../core/provider-kit.ts";
import type { TurnParts } from "./turn-parts.ts";

/** What calls are read with. */
interface CallPorts {
  /** Where chunks go. */
  readonly out: ModelChunk[];
  /** Where parts go. */
  readonly parts: TurnParts;
  /** Names of the run's own tools. */
  readonly names: ReadonlySet<string>;
}

/** A call that the service runs. */
interface ServiceCall {
  readonly toolName: string;
  readonly input: Json;
}

interface OpenCall {
  readonly key: string;
  readonly id: string;
  readonly name: string;
  /** Whether listeners hear of it while it streams. */
  readonly isHeard: boolean;
  argsText: string;
}

/** The calls of one stream. */
export class TurnCalls {
  readonly #ports: CallPorts;
  readonly #open = new Map<unknown, OpenCall>();
  readonly #ofService = new Map<unknown, ServiceCall>();
  /** The run's calls that came whole. */
  readonly #taken = new FinishedCalls<object>();
  #begun = 0;
  /** Whether one of them is the run's. */
  hasOwn = false;

  constructor(ports: CallPorts) {
    this.#ports = ports;
  }

  /** A call that turns out to be the service's cannot be taken back, so that only what is known to be the run's is told at once. */
  startInput({ id, toolName, providerExecuted, inputEncoding }: UnknownRecord): void {
    // One that is begun twice is still one.
    if (providerExecuted === true || this.#open.has(id)) return;
    const { out, names } = this.#ports;
    const name = textOf(toolName);
    const call = this.#begin(id, name, names.has(name) && inputEncoding !== "text" && !this.#taken.hasId(textOf(id)));
    this.#open.set(id, call);
    if (call.isHeard) out.push({ type: "call-start", key: call.key, id: call.id, name });
  }

  extendInput({ id, delta }: UnknownRecord): void {
    const call = this.#open.get(id);
    const text = textOf(delta);
    if (call === undefined || text === "") return;
    call.argsText += text;
    if (call.isHeard) this.#ports.out.push({ type: "call-args-delta", key: call.key, text });
  }

  /** Takes a whole call. What it says outranks what streamed before it. */
  take(said: UnknownRecord): void {
    const { toolCallId, providerMetadata } = said;
    const argsText = typeof said.input === "string" ? said.input : JSON.stringify(said.input ?? {});
    const part = { type: "tool-call", toolCallId: textOf(toolCallId), toolName: textOf(said.toolName) };
    const call = this.#open.get(toolCallId);
    this.#open.delete(toolCallId);
    if (said.providerExecuted === true) {
      const input = readInput(argsText);
      this.#ofService.set(toolCallId, { toolName: part.toolName, input });
      this.#ports.parts.add({ ...part, input, providerExecuted: true }, providerMetadata);
      return;
    }
    if (this.#taken.add(part, { id: part.toolCallId, name: part.toolName, argsText }) !== undefined) return;
    const { key, id } = call ?? this.#begin(toolCallId, part.toolName, false);
    this.#declareReady({ key, id, name: part.toolName }, argsText, false);
    this.#ports.parts.add({ ...part, input: toInput(argsText) }, providerMetadata);
  }

  /** A call that the service runs, by its id. */
  ofService(id: unknown): ServiceCall | undefined {
    return this.#ofService.get(id);
  }

  /** Declares the calls cut off that began and never came whole. */
  settle(): void {
    for (const call of this.#open.values()) {
      const { id, name, argsText } = call;
      this.#declareReady(call, argsText, true);
      this.#ports.parts.add({ type: "tool-call", toolCallId: id, toolName: name, input: toInput(argsText) }, undefined);
    }
    this.#open.clear();
  }

  #begin(id: unknown, name: string, isHeard: boolean): OpenCall {
    const key = `call-${this.#begun}`;
    this.#begun += 1;
    return { key, id: textOf(id), name, isHeard, argsText: "" };
  }

  #declareReady({ key, id, name }: Pick<OpenCall, "key" | "id" | "name">, argsText: string, isCut: boolean): void {
    this.#ports.out.push({ type: "call-ready", key, id, name, ...endArguments(argsText, isCut) });
    this.hasOwn = true;
  }
}

/** Services want an object back. */
function toInput(argsText: string): Json {
  const input = readInput(argsText);
  return isRecord(input) ? input : toArgumentsObject(argsText);
}

/** Levels that a kept part has around it: a value nested so deeply that only these are too much would be refused whole. */
const levelsAround = 4;

/** A text that is no JSON, or that is nested past any use, stands for itself. */
function readInput(argsText: string): Json {
  try {
    const parsed = parseToolArguments(argsText);
    return "args" in parsed ? toJson(parsed.args, -levelsAround) : argsText;
  } catch {
    return argsText;
  }
}
