// Tells by its shape which library a tool was made with, or what it lacks to be one that can be run here.

import { isRecord, quote, type UnknownRecord } from "../core/entry-kit.ts";
import { isCallable } from "./foreign-tool.ts";

/** The libraries whose tools are known. */
export type ForeignKind = "ai-sdk" | "openai-agents" | "anthropic" | "langchain";

/** The kind of a tool, or why it has none; `problem` reads on after the tool's name. */
export type FoundKind = { readonly kind: ForeignKind } | { readonly problem: string };

interface Shape {
  readonly kind: ForeignKind;
  readonly label: string;
  /** What tools of this kind have and those of the others do not. */
  looksLike(tool: UnknownRecord): boolean;
  /** The fields without which one cannot be run, and what each must be. */
  readonly needs: readonly (readonly [field: string, fits: (value: unknown) => boolean])[];
}

/** Schemas of some libraries are functions. */
const isSchema = (value: unknown): boolean => isRecord(value) || isCallable(value);

const shapes: readonly Shape[] = [
  {
    kind: "langchain",
    label: "LangChain",
    looksLike: (tool) => Array.isArray(tool["lc_namespace"]) || ("schema" in tool && isCallable(tool["invoke"])),
    needs: [
      ["schema", isSchema],
      ["invoke", isCallable],
    ],
  },
  {
    kind: "openai-agents",
    label: "OpenAI Agents",
    looksLike: (tool) => tool["type"] === "function" && !("inputSchema" in tool),
    needs: [
      ["parameters", isRecord],
      ["invoke", isCallable],
    ],
  },
  {
    kind: "anthropic",
    label: "the Anthropic SDK",
    looksLike: (tool) => "input_schema" in tool || isCallable(tool["run"]),
    needs: [["run", isCallable]],
  },
  {
    kind: "ai-sdk",
    label: "the AI SDK",
    looksLike: (tool) => "inputSchema" in tool || isCallable(tool["execute"]),
    needs: [
      ["inputSchema", isSchema],
      ["execute", isCallable],
    ],
  },
];

const known =
  '"inputSchema" and "execute" (AI SDK), "parameters" and "invoke" (OpenAI Agents), "input_schema" and "run" (Anthropic), or "schema" and "invoke" (LangChain)';

/** Finds the kind of a tool. */
export function findKind(tool: UnknownRecord): FoundKind {
  const shape = shapes.find(({ looksLike }) => looksLike(tool));
  if (shape === undefined) return { problem: describeStranger(tool) };
  if (isProviderTool(tool) && tool["execute"] === undefined) {
    return { problem: `is run by its provider (${quote(String(tool["id"]))}): there is no function of it to call here` };
  }
  const missing = shape.needs.find(([field, fits]) => !fits(tool[field]));
  if (missing === undefined) return { kind: shape.kind };
  const [field] = missing;
  const why =
    field.endsWith("chema") || field === "parameters" ? "no arguments can be shown for it" : "nothing of it could be run here";
  return { problem: `looks like one of ${shape.label}, but has no ${quote(field)}: ${why}` };
}

function isProviderTool({ type }: UnknownRecord): boolean {
  return type === "provider" || type === "provider-defined";
}

/** What is run elsewhere says its type; anything else is no tool. */
function describeStranger({ type }: UnknownRecord): string {
  return typeof type === "string"
    ? `is of type ${quote(type)}, which is run elsewhere: it has none of ${known}`
    : `is of no known kind: it has none of ${known}`;
}
